(* SPDX-License-Identifier: Apache-2.0 *)
(* Reads what `geoelastic info FILE --dump` writes, and says what the proved checker says. Exit 0 yes, 1 no, 2 not a dump. *)

exception Bad of string

let bad format = Printf.ksprintf (fun text -> raise (Bad text)) format

(* Words of a text, one after the other. *)
let words text =
  let at = ref 0 and size = String.length text in
  let blank c = c = ' ' || c = '\n' || c = '\t' || c = '\r' in
  fun () ->
    while !at < size && blank text.[!at] do incr at done;
    let first = !at in
    while !at < size && not (blank text.[!at]) do incr at done;
    if first = !at then bad "the file ends too early" else String.sub text first (!at - first)

(* A plain decimal number; no sign but minus, no hexadecimal, no underscores. *)
let number next =
  let word = next () in
  let digits = if word.[0] = '-' then String.sub word 1 (String.length word - 1) else word in
  if digits = "" || String.exists (fun c -> c < '0' || c > '9') digits then bad "a whole number was expected, got %S" word;
  match int_of_string_opt word with Some n -> n | None -> bad "%s does not fit into 63 bits" word

let expect next word =
  let got = next () in
  if got <> word then bad "%S was expected, got %S" word got

let named next word = expect next word; number next

let count next word =
  let n = named next word in
  if n < 0 || n > 1 lsl 28 then bad "'%s' must be in [0, 2^28], got %d" word n else n

let array n f = if n = 0 then [||] else (let a = Array.make n (f ()) in for i = 1 to n - 1 do a.(i) <- f () done; a)

let read path =
  let channel = open_in_bin path in
  let text = Fun.protect ~finally:(fun () -> close_in channel) (fun () -> really_input_string channel (in_channel_length channel)) in
  let next = words text in
  expect next "geoelastic-dump"; expect next "3";
  let size = count next "locations" in
  let edge_count = count next "edges" in
  let top = count next "top" in
  let flag what = match named next what with 0 -> false | 1 -> true | n -> bad "'%s' must be 0 or 1, got %d" what n in
  let sharp = flag "sharpened" in
  let slack = named next "slack" in
  if slack < 1 || slack > 24 then bad "'slack' must be in [1, 24], got %d" slack;
  let power = named next "power" in
  if power < 0 || power > 2 then bad "'power' must be 0, 1 or 2, got %d" power;
  let star = named next "star" in
  let star_bits = count next "over" in
  let start = count next "from" in
  let last = named next "last" in
  let last_bits = count next "over" in
  if star_bits > 1100 || last_bits > 1100 then bad "'over' must be at most 1100";
  let recipe = if power = 0 then None else Some { Proved.power; star; star_bits; start; last; last_bits } in
  expect next "required";
  let required = array (top + 1) (fun () -> number next) in
  expect next "location";
  let rows = array size (fun () -> array 5 (fun () -> number next)) in
  Array.iter (fun row -> if row.(2) <> 0 && row.(2) <> 1 then bad "'secret' must be 0 or 1, got %d" row.(2)) rows;
  expect next "edge";
  let edges = array edge_count (fun () -> let u = number next in let v = number next in ((u, v), number next)) in
  expect next "end";
  Array.iter (fun ((u, v), w) ->
      if u < 0 || v < 0 || u >= size || v >= size || w < 0 || w > 1 lsl 30 then bad "no edge: %d %d %d" u v w) edges;
  let column k = Array.map (fun row -> row.(k)) rows in
  ( { Proved.size; edge_count; edge_at = (fun k -> edges.(k)); top; requirement = required; sharp; slack;
      masses = column 0; fences = column 1; secret = (fun v -> rows.(v).(2) = 1); heights = column 3; measures = column 4 },
    edges, recipe )

(* An operation that would not be exact, or a read outside an array, is no yes. *)
let says part = try part () with Whole.Overflow | Invalid_argument _ | Not_found -> false

(* Farther sums take longer and bound more tightly, which a map of little slack needs; the last pair leaves nothing out
   that a weight could show. *)
let caps (m : Proved.file) = if m.slack <= 7 then [ (10, 14); (14, 20); (36, 36) ] else [ (16, 24); (36, 36) ]

let judge (m, edges, recipe) =
  let all = Hints.all m edges in
  let hints (cap, far) = all (cap * Hints.level, far * Hints.level) in
  let h = hints (List.hd (caps m)) in
  let graph = says (fun () -> Proved.graph_ok m h) in
  let requirement = graph && says (fun () -> Proved.requirement_ok m h) in
  let reports = graph && List.exists (fun pair -> says (fun () -> Proved.relief_ok m (hints pair))) (caps m) in
  let table = Option.map (fun recipe -> says (fun () -> Proved.table_ok m recipe)) recipe in
  (graph, requirement, reports, table)

let () =
  match Array.to_list Sys.argv with
  | [ _; path ] -> begin
      try
        let file = read path in
        let m, _, _ = file in
        let graph, requirement, reports, table = judge file in
        let ok = graph && requirement && reports && table <> Some false in
        Printf.printf
          "{\"ok\": %b, \"graph\": %b, \"requirement\": %b, \"reports\": %b, \"table\": %s, \"sharpened\": %b, \"locations\": %d, \"edges\": %d, \"cpu_seconds\": %.2f}\n"
          ok graph requirement reports (match table with None -> "null" | Some yes -> string_of_bool yes)
          m.Proved.sharp m.Proved.size m.Proved.edge_count (Sys.time ());
        exit (if ok then 0 else 1)
      with
      | Bad text -> prerr_endline (path ^ ": " ^ text); exit 2
      | Sys_error text -> prerr_endline text; exit 2
    end
  | _ -> prerr_endline "usage: geoelastic-proved DUMP"; exit 2
