(* SPDX-License-Identifier: Apache-2.0 *)
(** The table of the requirement follows from its recipe: req(l) = (l / l_star)^e with e = 1 (linear) or 2 (quadratic), where
    l_star and l_top are doubles, that is, whole numbers over powers of two. Code: [mass/requirement.py], which computes the
    table in double precision; hence the 2^-40 of a unit of mass that is allowed for.

    The products do not fit into 63 bits: they are taken digit by digit. *)

From Coq Require Import Reals ZArith List Bool Lra Lia.
From Geoelastic Require Import Graph Sums Weights Mechanism Requirement Checker Soundness.
Import ListNotations.
Local Open Scope Z_scope.

(** ** Large whole numbers: digits of 2^16, the lowest first *)

Definition base : Z := 2 ^ 16.

Fixpoint value (l : list Z) : Z := match l with [] => 0 | x :: l' => x + base * value l' end.

Fixpoint digits (n : nat) (z : Z) : list Z := match n with O => [z] | S k => z mod base :: digits k (z / base) end.

Fixpoint carried (l : list Z) (c : Z) : list Z :=
  match l with [] => [c] | x :: l' => (x + c) mod base :: carried l' ((x + c) / base) end.

Fixpoint plus (l m : list Z) : list Z :=
  match l, m with
  | [], _ => m
  | _, [] => l
  | x :: l', y :: m' => x + y :: plus l' m'
  end.

Fixpoint scaled (k : Z) (l : list Z) : list Z := match l with [] => [] | x :: l' => k * x :: scaled k l' end.

Fixpoint times (l m : list Z) : list Z := match l with [] => [] | x :: l' => plus (scaled x m) (0 :: times l' m) end.

Fixpoint product (ls : list (list Z)) : list Z :=
  match ls with [] => [1] | l :: ls' => carried (times l (product ls')) 0 end.

Fixpoint shifted (n : nat) (l : list Z) : list Z := match n with O => l | S k => 0 :: shifted k l end.

Definition two_to (b : Z) : list Z := shifted (Z.to_nat (b / 16)) [2 ^ (b mod 16)].

(** What is left over at the top when all digits are carried: >= 0 just if the number is. *)
Fixpoint left_over (l : list Z) (c : Z) : Z := match l with [] => c | x :: l' => left_over l' ((x + c) / base) end.

Definition at_most (l m : list Z) : bool := 0 <=? left_over (plus m (scaled (-1) l)) 0.

Lemma base_pos : 0 < base.
Proof. reflexivity. Qed.

Lemma digits_value n : forall z, value (digits n z) = z.
Proof.
  induction n as [| n IH]; intros z; cbn [digits value]; [lia |].
  rewrite IH. pose proof (Z.div_mod z base ltac:(discriminate)). lia.
Qed.

Lemma carried_value l : forall c, value (carried l c) = value l + c.
Proof.
  induction l as [| x l IH]; intros c; cbn [carried value]; [lia |].
  rewrite IH. pose proof (Z.div_mod (x + c) base ltac:(discriminate)). lia.
Qed.

Lemma plus_value l : forall m, value (plus l m) = value l + value m.
Proof.
  induction l as [| x l IH]; intros [| y m]; cbn [plus value]; try lia. rewrite IH. lia.
Qed.

Lemma scaled_value k l : value (scaled k l) = k * value l.
Proof. induction l as [| x l IH]; cbn [scaled value]; [lia |]. rewrite IH. ring. Qed.

Lemma times_value l m : value (times l m) = value l * value m.
Proof.
  induction l as [| x l IH]; cbn [times value]; [lia |].
  rewrite plus_value, scaled_value. cbn [value]. rewrite IH. ring.
Qed.

Lemma product_cons l ls : value (product (l :: ls)) = value l * value (product ls).
Proof. cbn [product]. rewrite carried_value, times_value. lia. Qed.

Lemma product_repeat l e : value (product (repeat l e)) = value l ^ Z.of_nat e.
Proof.
  induction e as [| e IH]; [reflexivity |]. cbn [repeat]. rewrite product_cons, IH.
  rewrite Nat2Z.inj_succ, Z.pow_succ_r by lia. ring.
Qed.

Lemma shifted_value n l : value (shifted n l) = base ^ Z.of_nat n * value l.
Proof.
  induction n as [| n IH]; cbn [shifted value]; [change (Z.of_nat 0) with 0; rewrite Z.pow_0_r; lia |].
  rewrite IH, Nat2Z.inj_succ, Z.pow_succ_r by lia. ring.
Qed.

Lemma two_to_value b : 0 <= b -> value (two_to b) = 2 ^ b.
Proof.
  intros B. unfold two_to. rewrite shifted_value. cbn [value].
  assert (0 <= b / 16) by (apply Z.div_pos; lia). rewrite Z2Nat.id by lia.
  unfold base. rewrite <- Z.pow_mul_r by lia. rewrite Z.mul_0_r, Z.add_0_r, <- Z.pow_add_r.
  - f_equal. pose proof (Z.div_mod b 16 ltac:(discriminate)). lia.
  - lia.
  - apply Z.mod_pos_bound. lia.
Qed.

Lemma left_over_sound l : forall c, 0 <= left_over l c -> 0 <= value l + c.
Proof.
  induction l as [| x l IH]; intros c H; cbn [left_over value] in *; [lia |].
  apply IH in H. pose proof (Z.mul_div_le (x + c) base base_pos) as Q.
  assert (0 <= base * (value l + (x + c) / base)) by (apply Z.mul_nonneg_nonneg; [discriminate | exact H]). lia.
Qed.

Lemma at_most_sound l m : at_most l m = true -> value l <= value m.
Proof.
  unfold at_most. rewrite Z.leb_le. intros H. apply left_over_sound in H.
  rewrite plus_value, scaled_value in H. lia.
Qed.

(** ** The recipe *)

Record recipe := {
  power : nat;       (* e *)
  star : Z;          (* l_star = star / 2^star_bits *)
  star_bits : Z;
  start : Z;         (* the requirement is asked for from this level on, in units *)
  last : Z;          (* l_top = last / 2^last_bits *)
  last_bits : Z }.

Section Recipe.

Variable m : file.
Variable r : recipe.

(** The end of the interval of levels that entry D stands for, as a fraction: (D + 1) / 2^13, or l_top. *)
Definition end_number (D : Z) : Z := if D =? top m then last r else D + 1.
Definition end_bits (D : Z) : Z := if D =? top m then last_bits r else 13.

(** req(end) 2^32 <= required D + 2^-8, times what makes it whole. *)
Definition entry_ok (D : Z) : bool :=
  let e := power r in
  at_most (product (two_to (Z.of_nat e * star_bits r + 40) :: repeat (digits 4 (end_number D)) e))
    (product (two_to (Z.of_nat e * end_bits D) :: digits 4 (256 * required m D + 1) :: repeat (digits 4 (star r)) e)).

Definition ends_ok : bool :=
  at_most (product [digits 4 (top m); two_to (last_bits r)]) (product [digits 4 (last r); two_to 13])
  && at_most (plus (product [digits 4 (last r); two_to 13]) [1]) (product [digits 4 (top m + 1); two_to (last_bits r)]).

Definition table_ok : bool :=
  (0 <? star r) && (0 <=? star_bits r) && (0 <=? last_bits r) && (0 <=? start r) && ends_ok
  && every (top m + 1) (fun D => if D <? start r then true else entry_ok D).

Hypothesis T : table_ok = true.

Lemma table_fact : 0 < star r /\ 0 <= star_bits r /\ 0 <= last_bits r /\ 0 <= start r /\ ends_ok = true /\
  (forall D, 0 <= D <= top m -> start r <= D -> entry_ok D = true).
Proof.
  unfold table_ok in T. rewrite !andb_true_iff, Z.ltb_lt, !Z.leb_le in T. destruct T as [[[[[A B] C] D] E] F].
  repeat split; auto. intros x X Y. pose proof (every_spec _ _ F x ltac:(lia)) as Q. simpl in Q.
  destruct (Z.ltb_spec x (start r)); [lia | exact Q].
Qed.

Lemma end_bits_nonneg D : 0 <= end_bits D.
Proof. unfold end_bits. destruct (D =? top m); [apply table_fact | lia]. Qed.

Lemma entry_fact D : 0 <= D <= top m -> start r <= D ->
  2 ^ (Z.of_nat (power r) * star_bits r + 40) * end_number D ^ Z.of_nat (power r) <=
  2 ^ (Z.of_nat (power r) * end_bits D) * ((256 * required m D + 1) * star r ^ Z.of_nat (power r)).
Proof.
  intros B S. destruct table_fact as [_ [K [_ [_ [_ H]]]]]. specialize (H D B S). unfold entry_ok in H.
  apply at_most_sound in H. pose proof (end_bits_nonneg D).
  rewrite !product_cons, !product_repeat, !two_to_value, !digits_value in H by nia. exact H.
Qed.

Local Open Scope R_scope.

Definition l_star : R := IZR (star r) / IZR (2 ^ star_bits r).
Definition l_last : R := IZR (last r) / IZR (2 ^ last_bits r).
Definition req (l : R) : R := (l / l_star) ^ power r.

Lemma two_pos b : (0 <= b)%Z -> 0 < IZR (2 ^ b).
Proof. intros B. apply (IZR_lt 0). apply Z.pow_pos_nonneg; lia. Qed.

Lemma two_many b e : (0 <= b)%Z -> IZR (2 ^ (Z.of_nat e * b)) = IZR (2 ^ b) ^ e.
Proof. intros B. rewrite pow_IZR, <- Z.pow_mul_r by lia. do 2 f_equal. lia. Qed.

Theorem entry_sound D l : (0 <= D <= top m)%Z -> (start r <= D)%Z -> 0 <= l <= IZR (end_number D) / IZR (2 ^ end_bits D) ->
  req l * 2 ^ 32 <= IZR (required m D) + / 2 ^ 8.
Proof.
  intros B S L. pose proof (entry_fact D B S) as H. destruct table_fact as [A [K _]]. pose proof (end_bits_nonneg D) as N.
  apply IZR_le in H. rewrite Z.pow_add_r, !mult_IZR in H by nia. rewrite !two_many in H by assumption.
  rewrite <- !pow_IZR in H. rewrite plus_IZR, mult_IZR in H. change (IZR (2 ^ 40)) with 1099511627776 in H.
  unfold req, l_star. apply (IZR_lt 0) in A. pose proof (two_pos _ K) as k0. pose proof (two_pos _ N) as n0.
  set (e := power r) in *. set (a := IZR (star r)) in *. set (k := IZR (2 ^ star_bits r)) in *.
  set (n := IZR (end_number D)) in *. set (d := IZR (2 ^ end_bits D)) in *. set (q := IZR (required m D)) in *.
  assert (P : (l / (a / k)) ^ e <= (n / d * k / a) ^ e).
  { apply pow_incr. split.
    - apply Rmult_le_pos; [lra |]. left. apply Rinv_0_lt_compat. now apply Rdiv_lt_0_compat.
    - replace (l / (a / k)) with (l * (k / a)) by (field; lra).
      replace (n / d * k / a) with (n / d * (k / a)) by (field; lra).
      apply Rmult_le_compat_r; [left; now apply Rdiv_lt_0_compat | lra]. }
  assert (Q : (n / d * k / a) ^ e * (d ^ e * a ^ e) = k ^ e * n ^ e).
  { rewrite <- !Rpow_mult_distr. f_equal. field. lra. }
  assert (0 < d ^ e * a ^ e) by (apply Rmult_lt_0_compat; now apply pow_lt).
  assert ((n / d * k / a) ^ e * 1099511627776 <= 256 * q + 1); [| lra].
  apply (Rmult_le_reg_r (d ^ e * a ^ e)); [assumption |].
  replace ((n / d * k / a) ^ e * 1099511627776 * (d ^ e * a ^ e)) with (1099511627776 * (k ^ e * n ^ e)) by (rewrite <- Q; ring).
  lra.
Qed.

Lemma last_within : level (top m) <= l_last < level (top m + 1).
Proof.
  destruct table_fact as [_ [_ [J [_ [E _]]]]]. unfold ends_ok in E. apply andb_true_iff in E as [E1 E2].
  apply at_most_sound in E1, E2. rewrite plus_value in E2.
  rewrite !product_cons, !digits_value, !two_to_value in E1, E2 by lia. cbn [value product] in E1, E2.
  pose proof (two_pos _ J) as j0. unfold l_last, level.
  assert (E1' : (top m * 2 ^ last_bits r <= last r * 8192)%Z) by lia.
  assert (E2' : (last r * 8192 < (top m + 1) * 2 ^ last_bits r)%Z) by lia.
  apply IZR_le in E1'. apply IZR_lt in E2'. rewrite !mult_IZR in E1', E2'. set (p := IZR (2 ^ last_bits r)) in *.
  set (q := IZR (last r) / p). assert (e : IZR (last r) = q * p) by (unfold q; field; lra). rewrite e in *.
  split.
  - apply (Rmult_le_reg_r (8192 * p)); [lra |]. unfold Rdiv. lra.
  - apply (Rmult_lt_reg_r (8192 * p)); [lra |]. unfold Rdiv. lra.
Qed.

(** *** Yes for a table with a recipe: the crowd is there at every real level, to a part in 2^40 of a unit of mass *)
Theorem recipe_every_level h (real_mass : Z -> R) :
  check m h = true -> (forall z, IZR (mass_of m z) / 2 ^ 32 <= real_mass z) ->
  forall x, (0 <= x < size m)%Z -> secret m x = true -> fence m x = 0%Z ->
  forall l, level (start r) <= l <= l_last ->
  req l - / 2 ^ 40 <= ball_at Z Z.eq_dec (places m) real_mass (edges m) x l.
Proof.
  intros C M x X Sx Fx l L. destruct table_fact as [_ [_ [_ [F _]]]].
  assert (F0 : 0 <= level (start r)) by (unfold level; apply IZR_le in F; lra).
  apply (checker_every_level m h real_mass (fun l => req l - / 2 ^ 40) (level (start r)) l_last); auto using last_within.
  intros D l' B [I1 I2] L'.
  assert (S : (start r <= D)%Z).
  { assert (start r < D + 1)%Z; [| lia]. apply lt_IZR. unfold level in *. lra. }
  assert (req l' * 2 ^ 32 <= IZR (required m D) + / 2 ^ 8); [| lra].
  apply (entry_sound D l' B S). unfold end_number, end_bits. split; [unfold level in *; apply IZR_le in F; lra |].
  destruct (Z.eqb_spec D (top m)); [apply L' |].
  unfold level in I2. change (IZR (2 ^ 13)) with 8192. lra.
Qed.

End Recipe.
