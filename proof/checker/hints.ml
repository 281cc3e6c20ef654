(* SPDX-License-Identifier: Apache-2.0 *)
(* Hints for the proved checker: neighbours, and shortest paths by buckets. Nothing here need be right: a wrong hint makes
   the checker say no. Each kind of hint has a workspace of its own, which the checker is done with before it asks for
   the next hint of that kind. *)

open Proved

type graph = { n : int; start : int array; index : int array; weight : int array; edge : int array }

let graph n edges weigh =
  let start = Array.make (n + 1) 0 in
  let count v = start.(v + 1) <- start.(v + 1) + 1 in
  Array.iter (fun ((u, v), _) -> count u; count v) edges;
  for v = 0 to n - 1 do start.(v + 1) <- start.(v + 1) + start.(v) done;
  let size = start.(n) in
  let index = Array.make size 0 and weight = Array.make size 0 and edge = Array.make size 0 in
  let fill = Array.sub start 0 (max n 1) in
  let put k u v w =
    let at = fill.(u) in
    index.(at) <- v; weight.(at) <- w; edge.(at) <- k; fill.(u) <- at + 1 in
  Array.iteri (fun k ((u, v), w) -> let w = weigh u v w in put k u v w; put k v u w) edges;
  { n; start; index; weight; edge }

let rows g item = Array.init g.n (fun v -> List.init (g.start.(v + 1) - g.start.(v)) (fun k -> item (g.start.(v) + k)))
let arcs g = rows g (fun at -> (g.index.(at), g.weight.(at)))
let edge_numbers g = rows g (fun at -> g.edge.(at))

(* Dijkstra's algorithm with a ring of buckets, one for each distance modulo their number. *)
type space = {
  g : graph; dist : int array; rank_of : int array; order : int array; mutable settled : int;
  touched : int array; mutable seen : int; head : int array; mutable vertex : int array; mutable next : int array;
  mutable entries : int }

let space g =
  let longest = Array.fold_left max 0 g.weight in
  let rec ring k = if k > longest then k else ring (2 * k) in
  { g; dist = Array.make g.n max_int; rank_of = Array.make g.n (-1); order = Array.make (max g.n 1) 0; settled = 0;
    touched = Array.make (max g.n 1) 0; seen = 0; head = Array.make (ring 1) (-1);
    vertex = Array.make 1024 0; next = Array.make 1024 0; entries = 0 }

let push s v d =
  if s.dist.(v) = max_int then (s.touched.(s.seen) <- v; s.seen <- s.seen + 1);
  s.dist.(v) <- d;
  if s.entries = Array.length s.vertex then begin
    s.vertex <- Array.append s.vertex s.vertex;
    s.next <- Array.append s.next s.next
  end;
  let b = d land (Array.length s.head - 1) in
  s.vertex.(s.entries) <- v; s.next.(s.entries) <- s.head.(b); s.head.(b) <- s.entries;
  s.entries <- s.entries + 1

(* Settle all within [limit] of the sources; [stop] is asked after each. *)
let search s sources limit stop =
  for k = 0 to s.seen - 1 do
    s.dist.(s.touched.(k)) <- max_int; s.rank_of.(s.touched.(k)) <- -1
  done;
  Array.fill s.head 0 (Array.length s.head) (-1);
  s.seen <- 0; s.settled <- 0; s.entries <- 0;
  List.iter (fun v -> push s v 0) sources;
  let waiting = ref s.entries and d = ref 0 and stopped = ref false in
  let mask = Array.length s.head - 1 in
  while !waiting > 0 && !d <= limit && not !stopped do
    let b = !d land mask in
    while s.head.(b) >= 0 && not !stopped do
      let e = s.head.(b) in
      s.head.(b) <- s.next.(e); decr waiting;
      let v = s.vertex.(e) in
      if s.dist.(v) = !d && s.rank_of.(v) < 0 then begin
        s.rank_of.(v) <- s.settled; s.order.(s.settled) <- v; s.settled <- s.settled + 1;
        if stop v then stopped := true;
        for at = s.g.start.(v) to s.g.start.(v + 1) - 1 do
          let u = s.g.index.(at) and c = !d + s.g.weight.(at) in
          if c < s.dist.(u) then (push s u c; incr waiting)
        done
      end
    done;
    incr d
  done

(* An array as a function; reads outside it raise. *)
let read (a : int array) = fun i -> a.(i)

let around s = { count = s.settled; place = read s.order; rank = read s.rank_of; reach = read s.dist }

let never _ = false
let level = 8192

(* Places outside fences in groups of neighbours. *)
let groups g outside =
  let s = space g and taken = Array.make g.n false and found = ref [] in
  for v = 0 to g.n - 1 do
    if outside v && not taken.(v) then begin
      let mine = ref [] and left = ref 96 in
      search s [ v ] (level / 2) (fun u ->
          if outside u && not taken.(u) then (taken.(u) <- true; mine := u :: !mine; decr left);
          !left = 0);
      found := !mine :: !found
    end
  done;
  Array.of_list !found

let weight_table () =
  let rec go v l = if v <= 1 lsl 30 then List.rev l else go (next_weight p1 q1 v) (v :: l) in
  Array.of_list (go (1 lsl 31) [])

let all (m : file) edges ~cap ~far_cap =
  let g = graph m.size edges (fun _ _ w -> w) in
  let low = graph m.size edges (fun u v w -> lower (m.height u) (m.height v) w) in
  let table = weight_table () in
  let period = Array.length table in
  let quarters = Array.init (far_cap + 1) (fun d -> table.(d mod period) / (4 lsl (d / period))) in
  let near = arcs g and which = edge_numbers g and near_low = arcs low in
  let first = Hashtbl.create 16 in
  for v = m.size - 1 downto 0 do Hashtbl.replace first (m.fence v) v done;
  let outside v = m.fence v = 0 in
  let groups = if m.sharp then groups low outside else [||] in
  let balls = space g and shared = space low and own = space low in
  let look s sources limit = search s sources limit never; around s in
  { near = (fun v -> near.(v)); which = (fun v -> which.(v)); near_low = (fun v -> near_low.(v)); first_of = Hashtbl.find first;
    ball = (fun x -> look balls [ x ] m.top);
    period; weights = read table; whole_weight = read quarters; cap; far_cap;
    group_count = Array.length groups; members = (fun k -> groups.(k));
    group = (fun k -> look shared groups.(k) far_cap);
    precise = (fun x -> look own [ x ] cap) }
