(* SPDX-License-Identifier: Apache-2.0 *)
(* Hints for the proved checker: neighbours, and shortest paths by buckets. Nothing here need be right: a wrong hint makes
   the checker say no. Each kind of hint has a workspace of its own, which the checker is done with before it asks for
   the next hint of that kind. *)

open Proved

(* Arcs of v: entries start.(v) .. start.(v + 1) - 1, each a place and a weight in one number of [arc], which halves what
   searches read. *)
type graph = { n : int; start : int array; arc : int array; edge : int array }

let[@inline] tip arc = arc land (1 lsl 28 - 1)
let[@inline] weight arc = arc lsr 28

let graph n edges weigh =
  let start = Array.make (n + 1) 0 in
  let count v = start.(v + 1) <- start.(v + 1) + 1 in
  Array.iter (fun ((u, v), _) -> count u; count v) edges;
  for v = 0 to n - 1 do start.(v + 1) <- start.(v + 1) + start.(v) done;
  let size = start.(n) in
  let arc = Array.make size 0 and edge = Array.make size 0 in
  let fill = Array.sub start 0 (max n 1) in
  let put k u v w =
    let at = fill.(u) in
    arc.(at) <- v lor (w lsl 28); edge.(at) <- k; fill.(u) <- at + 1 in
  Array.iteri (fun k ((u, v), w) -> let w = weigh u v w in put k u v w; put k v u w) edges;
  { n; start; arc; edge }

let rows g item = Array.init g.n (fun v -> List.init (g.start.(v + 1) - g.start.(v)) (fun k -> item (g.start.(v) + k)))
let arcs g = rows g (fun at -> (tip g.arc.(at), weight g.arc.(at)))
let edge_numbers g = rows g (fun at -> g.edge.(at))

(* Dijkstra's algorithm with a ring of buckets of 2^shift distances each. In wide buckets a place may be settled too early;
   it is then settled again, in a later turn. What is [far] away or farther is not looked at. *)
type space = {
  mutable g : graph; far : int; shift : int; dist : int array; turn_of : int array; settled_at : int array;
  order : int array; mutable settled : int; touched : int array; mutable seen : int; head : int array;
  mutable vertex : int array; mutable next : int array; mutable entries : int }

let space g ~far ~shift =
  let longest = Array.fold_left (fun most arc -> max most (weight arc)) 0 g.arc in
  let rec ring k = if k > (min longest far lsr shift) + 1 then k else ring (2 * k) in
  let make x = Array.make (max g.n 1) x in
  { g; far; shift; dist = make far; turn_of = make (-1); settled_at = make (-1); order = make 0; settled = 0;
    touched = make 0; seen = 0; head = Array.make (ring 1) (-1); vertex = Array.make 1024 0; next = Array.make 1024 0; entries = 0 }

let push s v d =
  if s.dist.(v) = s.far then (s.touched.(s.seen) <- v; s.seen <- s.seen + 1);
  s.dist.(v) <- d;
  let e = s.entries in
  if e = Array.length s.vertex then begin
    s.vertex <- Array.append s.vertex s.vertex;
    s.next <- Array.append s.next s.next
  end;
  let b = (d lsr s.shift) land (Array.length s.head - 1) in
  s.vertex.(e) <- v; s.next.(e) <- s.head.(b); s.head.(b) <- e;
  s.entries <- e + 1

(* Settle all that is nearer to the sources than [far]; [stop] is asked after each. *)
let search s sources stop =
  for k = 0 to s.seen - 1 do
    let v = s.touched.(k) in
    s.dist.(v) <- s.far; s.turn_of.(v) <- -1; s.settled_at.(v) <- -1
  done;
  s.seen <- 0; s.settled <- 0; s.entries <- 0;
  List.iter (fun v -> push s v 0) sources;
  let waiting = ref s.entries and b = ref 0 and stopped = ref false in
  let mask = Array.length s.head - 1 and dist = s.dist and arc = s.g.arc and shift = s.shift in
  while !waiting > 0 && not !stopped do
    let slot = !b land mask in
    while s.head.(slot) >= 0 && not !stopped do
      let e = s.head.(slot) in
      s.head.(slot) <- s.next.(e); decr waiting;
      let v = s.vertex.(e) in
      let d = dist.(v) in
      if d lsr shift = !b && s.settled_at.(v) <> d then begin
        s.settled_at.(v) <- d;
        s.turn_of.(v) <- s.settled;
        if shift = 0 then s.order.(s.settled) <- v;
        s.settled <- s.settled + 1;
        if stop v then stopped := true;
        for at = s.g.start.(v) to s.g.start.(v + 1) - 1 do
          let a = arc.(at) in
          let u = tip a and c = d + weight a in
          if c < dist.(u) then (push s u c; incr waiting)
        done
      end
    done;
    incr b
  done;
  if !stopped then Array.fill s.head 0 (Array.length s.head) (-1)

let around s = { count = s.settled; order = s.order; ranks = s.turn_of; reaches = s.dist }

let level = 8192

(* Places outside fences in groups of neighbours. *)
let groups g outside =
  let s = space g ~far:(2 * level + 1) ~shift:0 and taken = Array.make g.n false and found = ref [] in
  for v = 0 to g.n - 1 do
    if outside v && not taken.(v) then begin
      let mine = ref [] and left = ref 96 in
      search s [ v ] (fun u ->
          if outside u && not taken.(u) then (taken.(u) <- true; mine := u :: !mine; decr left);
          !left = 0);
      found := !mine :: !found
    end
  done;
  Array.of_list !found

let weight_table () =
  let rec go v l = if v <= 1 lsl 30 then List.rev l else go (next_weight p1 q1 v) (v :: l) in
  Array.of_list (go (1 lsl 31) [])

(* The first n places of what was found around a group as a graph of their own, in which searches from its members stay:
   small enough to be near the processor. *)
let take_down s n ~cap measures =
  let size = ref 0 in
  for k = 0 to n - 1 do let v = s.order.(k) in size := !size + s.g.start.(v + 1) - s.g.start.(v) done;
  let per_place () = Array.make (n + 1) 0 and per_arc () = Array.make !size 0 in
  let starts = per_place () and middles = per_place () and ways_out = per_place () and loads = per_place () in
  let arc = per_arc ()  and tips = per_arc () and longs = per_arc () in
  for k = 0 to n - 1 do
    let v = s.order.(k) in
    let each f =
      for at = s.g.start.(v) to s.g.start.(v + 1) - 1 do
        let a = s.g.arc.(at) in
        let r = s.turn_of.(tip a) in
        f (if r < n then r else -1) (weight a)
      done in
    let lower = ref 0 and out = ref cap in
    each (fun r w -> if r < 0 then out := min !out w else if r < k then incr lower);
    let low = ref starts.(k) in
    let high = ref (!low + !lower) in
    middles.(k) <- !high; ways_out.(k) <- !out; loads.(k) <- measures.(v);
    let put at r w = arc.(!at) <- r lor (w lsl 28); tips.(!at) <- r; longs.(!at) <- w; incr at in
    each (fun r w -> if r >= 0 then put (if r < k then low else high) r w);
    starts.(k + 1) <- !high
  done;
  { n; start = starts; arc; edge = [||] }, { starts; middles; tips; longs; ways_out; loads }

(* All hints; [pair] is how far sums are exact, and how far they are bounded. The graphs are the same for all pairs. *)
let all (m : file) edges =
  let g = graph m.size edges (fun _ _ w -> w) in
  let low = graph m.size edges (fun u v w -> lower m.slack m.heights.(u) m.heights.(v) w) in
  let near = arcs g and which = edge_numbers g and near_low = arcs low in
  let first = Hashtbl.create 16 in
  for v = m.size - 1 downto 0 do Hashtbl.replace first m.fences.(v) v done;
  let groups = if m.sharp then groups low (fun v -> m.fences.(v) = 0) else [||] in
  let table = weight_table () in
  let period = Array.length table in
  let look s sources = search s sources (fun _ -> false); around s in
  let balls = space g ~far:(m.top + 1) ~shift:0 in
  fun (cap, far_cap) ->
    let quarters = Array.init (far_cap + 1) (fun d -> table.(d mod period) / (4 lsl (d / period))) in
    let shared = space low ~far:(far_cap + 1) ~shift:0 and own = space low ~far:cap ~shift:8 in
    (* how many of what lies around the group that was looked at last are nearer than [cap]: they come first *)
    let core _ =
      let rec go low high = if low >= high then low else
        let k = (low + high) / 2 in
        if shared.dist.(shared.order.(k)) < cap then go (k + 1) high else go low k in
      go 0 shared.settled in
    let patch_of k = let graph, patch = take_down shared (core k) ~cap m.measures in own.g <- graph; patch in
    let precise _ x =
      search own [ shared.turn_of.(x) ] (fun _ -> false);
      { depths = own.dist; turns = own.turn_of } in
    { near = (fun v -> near.(v)); which = (fun v -> which.(v)); near_low = (fun v -> near_low.(v)); first_of = Hashtbl.find first;
      ball = (fun x -> look balls [ x ]);
      period; table; quarters; cap; far_cap;
      group_count = Array.length groups; members = (fun k -> groups.(k));
      group = (fun k -> look shared groups.(k)); core; patch_of; precise }
