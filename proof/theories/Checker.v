(* SPDX-License-Identifier: Apache-2.0 *)
(** The checker: a program that says whether a map keeps its promise. [Soundness.v] proves that it is never wrong when it
    says yes; `Extraction.v` turns it into OCaml.

    It takes hints from helpers that nobody need trust: neighbours of each place, and for each place a list of what
    lies around it with distances. A hint that is wrong makes the checker say no, never yes.

    What is read by number is a [reader]: a function here, an array in OCaml, where a read outside stops the program.
    Loops count a [nat] down. *)

From Coq Require Import ZArith List Bool FMapPositive.
From Geoelastic Require Import Weights Relief.
Import ListNotations.
Local Open Scope Z_scope.

Definition reader : Type := Z -> Z.
Definition get (r : reader) (i : Z) : Z := r i.

(** ** What a file says *)

Record file := {
  size : Z;                       (* places are 0 .. size - 1 *)
  edge_count : Z;
  edge_at : Z -> Z * Z * Z;       (* edge k: two places and a weight in level units *)
  masses : reader;
  fences : reader;                (* 0 outside, k inside fence k *)
  secret : Z -> bool;             (* false in the frame *)
  top : Z;                        (* the requirement is asked for up to this level *)
  requirement : reader;           (* what a ball of each radius must hold *)
  sharp : bool;                   (* reports go by heights with exponent 1, or else with exponent 1/2 *)
  slack : Z;                      (* a length is lowered by a 2^slack-th of it, and by what heights say *)
  heights : reader;
  measures : reader }.

Definition mass (m : file) (v : Z) : Z := get (masses m) v.
Definition fence (m : file) (v : Z) : Z := get (fences m) v.
Definition required (m : file) (D : Z) : Z := get (requirement m) D.
Definition height (m : file) (v : Z) : Z := get (heights m) v.
Definition measure (m : file) (v : Z) : Z := get (measures m) v.

(** ** Hints *)

(** What lies around: [count] places, the k-th being [place k], at most [reach] of it away; [rank] finds k again. *)
Record around := { count : Z; order : reader; ranks : reader; reaches : reader }.

Definition place (a : around) (k : Z) : Z := get (order a) k.
Definition rank (a : around) (v : Z) : Z := get (ranks a) v.
Definition reach (a : around) (v : Z) : Z := get (reaches a) v.

(** The first places around a group as a graph of their own, in which the k-th place is called k. Its arcs are
    [first_arc k] .. [first_arc (k + 1) - 1], before [middle k] those to lower numbers; arc e leads to [tip e]. What leads
    out of the patch is at least [way_out k] long. *)
Record patch := { starts : reader; middles : reader; tips : reader; longs : reader; ways_out : reader; loads : reader }.

Definition first_arc (p : patch) (k : Z) : Z := get (starts p) k.
Definition middle (p : patch) (k : Z) : Z := get (middles p) k.
Definition tip (p : patch) (e : Z) : Z := get (tips p) e.
Definition long (p : patch) (e : Z) : Z := get (longs p) e.
Definition way_out (p : patch) (k : Z) : Z := get (ways_out p) k.
Definition load (p : patch) (k : Z) : Z := get (loads p) k.   (* the measure of k *)

(** How far each place of a patch is from one of them, and in what turn it was reached. *)
Record field := { depths : reader; turns : reader }.

Definition depth (f : field) (k : Z) : Z := get (depths f) k.
Definition turn (f : field) (k : Z) : Z := get (turns f) k.

Record hints := {
  near : Z -> list (Z * Z);       (* neighbours of each place, with weights *)
  which : Z -> list Z;            (* the edge that each of them is *)
  near_low : Z -> list (Z * Z);   (* the same with lowered weights *)
  first_of : Z -> Z;              (* a place of each fence *)
  ball : Z -> around;             (* around each place, as far as the requirement is asked for *)
  period : Z;                     (* the weight table of exponent 1 *)
  table : reader;
  quarters : reader;              (* a quarter of each weight, rounded down *)
  cap : Z;                        (* sums are exact up to this distance, *)
  far_cap : Z;                    (* and bounded, by groups of places, up to this one *)
  group_count : Z;
  group : Z -> around;            (* around a group: distances from the nearest of it *)
  members : Z -> list Z;
  core : Z -> Z;                  (* how many of the places around a group are within [cap] of a member: *)
  patch_of : Z -> patch;          (* the arcs between these, by lowered weights *)
  precise : Z -> Z -> field }.    (* in the patch of a group: around a member of it, up to [cap] *)

Definition weights (h : hints) (j : Z) : Z := get (table h) j.
Definition whole_weight (h : hints) (D : Z) : Z := get (quarters h) D.

(** ** Tools *)

Fixpoint all_below (n : nat) (f : Z -> bool) : bool :=
  match n with O => true | S k => if f (Z.of_nat k) then all_below k f else false end.

Definition every (n : Z) (f : Z -> bool) : bool := all_below (Z.to_nat n) f.

Definition within (n i : Z) : bool := (0 <=? i) && (i <? n).

Fixpoint has (l : list (Z * Z)) (v w : Z) : bool :=
  match l with
  | [] => false
  | (a, b) :: l' => if (a =? v) && (b =? w) then true else has l' v w
  end.

(** ** The graph *)

Section Check.

Variable m : file.
Variable h : hints.

Definition edge_ok (k : Z) : bool :=
  let '(u, v, w) := edge_at m k in
  within (size m) u && within (size m) v && (0 <=? w) && has (near h u) v w && has (near h v) u w
  && (fence m u =? fence m v) && ((fence m u =? 0) || (w =? 0)).

Definition is_edge (u v w k : Z) : bool :=
  within (edge_count m) k &&
  let '(a, b, c) := edge_at m k in
  (c =? w) && (((a =? u) && (b =? v)) || ((a =? v) && (b =? u))).

Fixpoint all_edges (u : Z) (l : list (Z * Z)) (ks : list Z) : bool :=
  match l, ks with
  | [], [] => true
  | (v, w) :: l', k :: ks' => if is_edge u v w k then all_edges u l' ks' else false
  | _, _ => false
  end.

Fixpoint all_lowered (u : Z) (l low : list (Z * Z)) : bool :=
  match l, low with
  | [], [] => true
  | (v, w) :: l', (v', w') :: low' =>
      if (v =? v') && (w' =? lower (slack m) (height m u) (height m v) w) then all_lowered u l' low' else false
  | _, _ => false
  end.

(** A fence is tied together by edges of length 0, each place to an earlier one. *)
Definition tied_ok (v : Z) : bool :=
  let f := fence m v in
  (f =? 0) || (first_of h f =? v) ||
  existsb (fun e => within v (fst e) && (fence m (fst e) =? f) && (snd e =? 0)) (near h v).

Definition place_ok (v : Z) : bool :=
  (0 <=? mass m v) && (0 <=? measure m v) && (0 <=? fence m v) && all_edges v (near h v) (which h v) && tied_ok v.

Definition graph_ok : bool := every (edge_count m) edge_ok && every (size m) place_ok.

(** ** The requirement *)

Definition member (a : around) (n u : Z) : bool :=
  let r := rank a u in (0 <=? r) && (r <? n) && (place a r =? u).

(** The k-th place is new, and some earlier place leads to it. *)
Definition settled (arcs : Z -> list (Z * Z)) (a : around) (x k : Z) : bool :=
  let v := place a k in
  let d := reach a v in
  within (size m) v && (rank a v =? k) && (0 <=? d) &&
  (if k =? 0 then (v =? x) && (d =? 0)
   else existsb (fun e => member a k (fst e) && (reach a (fst e) + snd e <=? d)) (arcs v)).

(** Go through the ball outwards; just before it grows, what has been found must be enough. *)
Fixpoint climb (a : around) (x : Z) (left : nat) (k found last : Z) : bool :=
  match left with
  | O => required m (top m) <=? found
  | S left' =>
      let v := place a k in
      let d := reach a v in
      if settled (near h) a x k && (last <=? d) && (d <=? top m)
         && ((d <=? last) || (required m (d - 1) <=? found))
      then climb a x left' (k + 1) (found + mass m v) d
      else false
  end.

Definition ball_ok (x : Z) : bool :=
  if secret m x && (fence m x =? 0) then let a := ball h x in climb a x (Z.to_nat (count a)) 0 0 0 else true.

Definition rising (D : Z) : bool := required m D <=? required m (D + 1).

Definition requirement_ok : bool := (0 <=? top m) && every (top m) rising && every (size m) ball_ok.

(** ** The weight table of exponent 1 *)

Definition p1 : Z := step_p 1 1.
Definition q1 : Z := step_q 1 1.

Definition weight_ok (j : Z) : bool :=
  (top_weight / 2 <? weights h j) &&
  (if j =? 0 then weights h 0 =? top_weight else weights h j =? next_weight p1 q1 (weights h (j - 1))).

Definition quarter_ok (D : Z) : bool :=
  whole_weight h D =? weights h (D mod period h) / (4 * 2 ^ (D / period h)).

Definition weights_ok : bool :=
  (0 <? period h) && every (period h) weight_ok
  && (next_weight p1 q1 (weights h (period h - 1)) <=? top_weight / 2)
  && (0 <=? cap h) && (cap h <=? far_cap h) && every (far_cap h + 1) quarter_ok.

(** ** Sums *)

(** A patch has exactly the arcs that lead from one of the first n places around a group to another. [low] and [high] are
    the next arcs from k to lower and to higher numbers. *)
Definition is_arc (p : patch) (e r w : Z) : bool := (tip p e =? r) && (long p e =? w).

Fixpoint row_ok (a : around) (p : patch) (n k : Z) (l : list (Z * Z)) (low high : Z) : bool :=
  match l with
  | [] => (low =? middle p k) && (high =? first_arc p (k + 1))
  | (u, w) :: l' =>
      if member a n u then
        let r := rank a u in
        if r <? k then if is_arc p low r w then row_ok a p n k l' (low + 1) high else false
        else if is_arc p high r w then row_ok a p n k l' low (high + 1) else false
      else if way_out p k <=? w then row_ok a p n k l' low high else false
  end.

Definition patch_ok (a : around) (p : patch) (n : Z) : bool :=
  every n (fun k => let v := place a k in
                    (load p k =? measure m v) && row_ok a p n k (near_low h v) (first_arc p k) (middle p k)).

(** An arc of length w to u leads to an earlier one: nearer, or reached in an earlier turn. *)
Definition earlier (f : field) (k u w : Z) : bool := (0 <? w) || ((0 <=? turn f u) && (turn f u <? turn f k)).

(** Of these arcs one leads back. *)
Fixpoint leads_back (p : patch) (f : field) (k d : Z) (left : nat) (e : Z) : bool :=
  match left with
  | O => false
  | S left' =>
      let u := tip p e in
      let w := long p e in
      if (depth f u + w <=? d) && earlier f k u w then true else leads_back p f k d left' (e + 1)
  end.

(** None of these arcs, all to lower numbers, leads further than its length, in either direction; and one of k's arcs
    leads back, unless it has been [found] already. *)
Fixpoint level_ok (p : patch) (f : field) (k d : Z) (left : nat) (e : Z) (found : bool) : bool :=
  match left with
  | O => if found then true else leads_back p f k d (Z.to_nat (first_arc p (k + 1) - middle p k)) (middle p k)
  | S left' =>
      let u := tip p e in
      let w := long p e in
      let g := depth f u in
      let there := g + w in
      if g <=? d + w then
        if d <=? there
        then level_ok p f k d left' (e + 1) (if found then true else if there =? d then earlier f k u w else false)
        else false
      else false
  end.

(** How far the place called k is from the one called r, or [cap] if it is farther, is right. *)
Definition depth_ok (p : patch) (f : field) (r k : Z) : bool :=
  let d := depth f k in
  (0 <=? d) && (d <=? cap h) && (cap h <=? d + way_out p k) &&
  level_ok p f k d (Z.to_nat (middle p k - first_arc p k)) (first_arc p k) ((d =? cap h) || ((k =? r) && (d =? 0))).

(** Sum of measure x weight and of measure over what is nearer than [cap]. *)
Fixpoint add_up (p : patch) (f : field) (left : nat) (k sum all : Z) : Z * Z :=
  match left with
  | O => (sum, all)
  | S left' =>
      let d := depth f k in
      if d =? cap h then add_up p f left' (k + 1) sum all
      else let mu := load p k in add_up p f left' (k + 1) (sum + mu * whole_weight h d) (all + mu)
  end.

Definition exact_sum (a : around) (p : patch) (n : Z) (f : field) (x : Z) : option (Z * Z) :=
  let r := rank a x in
  if (depth f r =? 0) && every n (depth_ok p f r) then Some (add_up p f (Z.to_nat n) 0 0 0) else None.

Fixpoint total_below (n : nat) (sum : Z) : Z :=
  match n with
  | O => sum
  | S k => total_below k (sum + (if fence m (Z.of_nat k) =? 0 then measure m (Z.of_nat k) else 0))
  end.

Definition total_measure : Z := total_below (Z.to_nat (size m)) 0.

(** A lower bound of the distance from any place at 0. *)
Definition potential (a : around) (u : Z) : Z := if member a (count a) u then reach a u else far_cap h.

Fixpoint add_far (a : around) (left : nat) (k sum all : Z) : option (Z * Z) :=
  match left with
  | O => Some (sum, all)
  | S left' =>
      let v := place a k in
      let d := reach a v in
      if within (size m) v && (fence m v =? 0) && (rank a v =? k) && (0 <=? d) && (d <=? far_cap h)
         && forallb (fun e => potential a (fst e) <=? d + snd e) (near_low h v)
      then add_far a left' (k + 1) (sum + measure m v * whole_weight h (Z.max d (cap h))) (all + measure m v)
      else None
  end.

(** An upper bound of the far part of every member of a group. *)
Definition far_bound (a : around) : option Z :=
  match add_far a (Z.to_nat (count a)) 0 0 0 with
  | Some (sum, all) => Some (sum + all + (total_measure - all) * (whole_weight h (far_cap h) + 1))
  | None => None
  end.

(** What is known of a place: the sum of measure x weight over its ball, its measure, a bound of its far part. *)
Definition sums : Type := PositiveMap.t (Z * Z * Z).

Fixpoint add_members (a : around) (p : patch) (n far : Z) (fields : Z -> field) (l : list Z) (s : sums) : option sums :=
  match l with
  | [] => Some s
  | x :: l' =>
      if within (size m) x && (fence m x =? 0) && member a n x && (reach a x =? 0) then
        match exact_sum a p n (fields x) x with
        | Some (sum, all) => add_members a p n far fields l' (PositiveMap.add (Z.to_pos (x + 1)) (sum, all, far) s)
        | None => None
        end
      else None
  end.

Fixpoint add_groups (n : nat) (s : sums) : option sums :=
  match n with
  | O => Some s
  | S k =>
      let g := Z.of_nat k in
      let a := group h g in
      let n := core h g in
      match far_bound a with
      | Some far =>
          let p := patch_of h g in
          if (0 <=? n) && (n <=? count a) && patch_ok a p n then
            match add_members a p n far (precise h g) (members h g) s with
            | Some s' => add_groups k s'
            | None => None
            end
          else None
      | None => None
      end
  end.

(** ** The inequality of an edge *)

Definition one : Z := 2 ^ 28.
Definition up_div (a b : Z) : Z := - ((- a) / b).

(** At most 2^28 e^t and at least 2^28 e^t, for t in level units: by 2^-8 of it, squared eight times. *)
Fixpoint square_down (n : nat) (b : Z) : Z := match n with O => b | S k => square_down k (b * b / one) end.
Fixpoint square_up (n : nat) (b : Z) : Z := match n with O => b | S k => square_up k (up_div (b * b) one) end.

Definition part : Z := 2 ^ 21.  (* 2^8 times the level units in 1 *)
Definition exp_down (t : Z) : Z := square_down 8 (one + (one / part) * t + t * t / (2 ^ 15)).
Definition exp_up (t : Z) : Z := square_up 8 (up_div (one * part) (part - t)).

Definition longest : Z := 2 ^ 14.

(** S(x) <= e^(w - w') S(y). *)
Definition ratio_ok (sx sy : Z * Z * Z) (w low : Z) : bool :=
  let wc := whole_weight h (cap h) in
  let '(ax, bx, fx) := sx in
  let '(ay, by_, fy) := sy in
  let top_x := ax + bx - wc * bx in
  let low_y := ay - (wc + 1) * by_ in
  let unit := 1 + Z.max top_x low_y / 2 ^ 29 in
  let nx := top_x / unit + 1 in
  let ny := low_y / unit in
  let from := (wc * by_) / unit in
  let to := fy / unit + 1 in
  let more := exp_down (Z.min (w - low) longest) in
  if low <=? longest then
    let far := exp_up low in
    (nx * one + far * from <=? more * (ny + from)) && (nx * one + far * to <=? more * (ny + to))
  else (nx + fx / unit + 1) * one <=? more * (ny + from).

Definition edge_holds_ok (s : sums) (k : Z) : bool :=
  let '(u, v, w) := edge_at m k in
  if (fence m u =? 0) && (0 <? w) then
    let low := lower (slack m) (height m u) (height m v) w in
    match PositiveMap.find (Z.to_pos (u + 1)) s, PositiveMap.find (Z.to_pos (v + 1)) s with
    | Some su, Some sv => ratio_ok su sv w low && ratio_ok sv su w low
    | _, _ => false
    end
  else true.

Definition relief_ok : bool :=
  if sharp m then
    weights_ok && every (size m) (fun u => all_lowered u (near h u) (near_low h u)) &&
    match add_groups (Z.to_nat (group_count h)) (PositiveMap.empty _) with
    | Some s => every (edge_count m) (edge_holds_ok s)
    | None => false
    end
  else true.

Definition check : bool := graph_ok && requirement_ok && relief_ok.

End Check.
