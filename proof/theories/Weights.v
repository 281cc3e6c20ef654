(* SPDX-License-Identifier: Apache-2.0 *)
(** The weight table from its recipe: whole numbers that never increase and fall by less than e^x a unit.

    Code: [mechanism/weights.py] ([_step], [make_weights], [Weights.exact]); the client rebuilds the same table.
    The exponent is a/b; a level unit is 2^-13; x = a / (b 2^13). *)

From Coq Require Import Reals ZArith List Lra Lia Psatz.
Import ListNotations.
Local Open Scope Z_scope.

(** ** The recipe, in whole numbers *)

Definition level_bits : Z := 13.
Definition top_weight : Z := 2 ^ 31.

(** p and q of an exponent: p/q = 1 + x + x^2/2. *)
Definition step_p (a b : Z) : Z := let c := b * 2 ^ level_bits in 2 * c * c + 2 * a * c + a * a.
Definition step_q (a b : Z) : Z := let c := b * 2 ^ level_bits in 2 * c * c.

(** -(-v q // p): v q / p, rounded up. *)
Definition next_weight (p q v : Z) : Z := - ((- v * q) / p).

Fixpoint recipe (fuel : nat) (p q v : Z) : list Z :=
  match fuel with
  | O => []
  | S fuel' => if v <=? top_weight / 2 then [] else v :: recipe fuel' p q (next_weight p q v)
  end.

Definition table (fuel : nat) (a b : Z) : list Z := recipe fuel (step_p a b) (step_q a b) top_weight.

(** What a table must satisfy, whoever made it: it starts at 2^31, follows the recipe, and the next entry would be at
    most 2^30. *)
Definition follows (p q : Z) (t : Z -> Z) (N : Z) : Prop :=
  0 < N /\ t 0 = top_weight /\ (forall j, 0 <= j -> j + 1 < N -> t (j + 1) = next_weight p q (t j)) /\
  next_weight p q (t (N - 1)) <= top_weight / 2 /\ (forall j, 0 <= j < N -> top_weight / 2 < t j).

Lemma next_weight_ge p q v : 0 < p -> v * q <= next_weight p q v * p.
Proof. intros P. unfold next_weight. pose proof (Z.mul_div_le (- v * q) p P). lia. Qed.

Lemma next_weight_le p q v : 0 < q <= p -> 0 <= v -> next_weight p q v <= v.
Proof.
  intros P V. unfold next_weight.
  assert (- v <= - v * q / p); [| lia].
  apply Z.div_le_lower_bound; nia.
Qed.

Lemma recipe_follows p q fuel : forall v,
  let l := recipe fuel p q v in
  (forall j, (S j < length l)%nat -> nth (S j) l 0 = next_weight p q (nth j l 0)) /\
  (l <> [] -> nth 0 l 0 = v) /\ Forall (fun t => top_weight / 2 < t) l.
Proof.
  induction fuel as [| fuel IH]; intros v; cbn zeta; simpl recipe.
  - repeat split; simpl; [lia | congruence | constructor].
  - destruct (Z.leb_spec v (top_weight / 2)) as [L | L].
    + repeat split; simpl; [lia | congruence | constructor].
    + destruct (IH (next_weight p q v)) as [A [B C]]. repeat split.
      * intros [| j] J; simpl in *.
        -- apply B. intros e. rewrite e in J. simpl in J. lia.
        -- apply A. lia.
      * constructor; [exact L | exact C].
Qed.

(** ** The weights as real numbers *)

Local Open Scope R_scope.

(** w(D) = t[D mod N] 2^-(D div N). *)
Definition weight (t : Z -> Z) (N D : Z) : R := IZR (t (D mod N)%Z) / IZR (2 ^ (D / N)).

Section Step.

Variables (p q : Z) (t : Z -> Z) (N : Z).
Hypothesis q_pos : (0 < q <= p)%Z.
Hypothesis T : follows p q t N.

Lemma two_pow_pos k : (0 <= k)%Z -> 0 < IZR (2 ^ k).
Proof. intros K. apply IZR_lt. apply Z.pow_pos_nonneg; lia. Qed.

Lemma weight_pos D : (0 <= D)%Z -> 0 < weight t N D.
Proof.
  intros H. destruct T as [N0 [_ [_ [_ B]]]]. unfold weight.
  apply Rdiv_lt_0_compat; [| apply two_pow_pos, Z.div_pos; lia].
  apply IZR_lt. assert (top_weight / 2 < t (D mod N))%Z by (apply B, Z.mod_pos_bound, N0).
  assert (0 < top_weight / 2)%Z by reflexivity. lia.
Qed.

(** One unit further: no larger, and smaller by at most p/q. *)
Theorem weight_step D : (0 <= D)%Z ->
  weight t N (D + 1) <= weight t N D /\ weight t N D * IZR q <= weight t N (D + 1) * IZR p.
Proof.
  intros H. destruct T as [N0 [T0 [TS [TE TB]]]]. unfold weight.
  assert (P : (0 < p)%Z) by lia.
  pose proof (Z.div_mod D N ltac:(lia)) as DM. pose proof (Z.mod_pos_bound D N N0) as M.
  set (r := (D mod N)%Z) in *. set (s := (D / N)%Z) in *.
  assert (S0 : (0 <= s)%Z) by (apply Z.div_pos; lia).
  pose proof (two_pow_pos s S0) as PS.
  assert (low : (0 < t r)%Z) by (assert (0 < top_weight / 2)%Z by reflexivity; pose proof (TB r M); lia).
  destruct (Z_lt_ge_dec (r + 1) N) as [I | I].
  - assert (E1 : ((D + 1) / N = s)%Z) by (symmetry; apply (Z.div_unique _ _ _ (r + 1)%Z); lia).
    assert (E2 : ((D + 1) mod N = r + 1)%Z) by (symmetry; apply (Z.mod_unique _ _ s); lia).
    rewrite E1, E2, (TS r) by lia.
    pose proof (next_weight_ge p q (t r) P) as G. pose proof (next_weight_le p q (t r) q_pos ltac:(lia)) as L.
    split.
    + apply Rmult_le_compat_r; [left; now apply Rinv_0_lt_compat | now apply IZR_le].
    + replace (IZR (t r) / IZR (2 ^ s) * IZR q) with (IZR (t r * q) / IZR (2 ^ s)) by (rewrite mult_IZR; field; lra).
      replace (IZR (next_weight p q (t r)) / IZR (2 ^ s) * IZR p)
        with (IZR (next_weight p q (t r) * p) / IZR (2 ^ s)) by (rewrite mult_IZR; field; lra).
      apply Rmult_le_compat_r; [left; now apply Rinv_0_lt_compat | now apply IZR_le].
  - assert (E1 : ((D + 1) / N = s + 1)%Z) by (symmetry; apply (Z.div_unique _ _ _ 0%Z); lia).
    assert (E2 : ((D + 1) mod N = 0)%Z) by (symmetry; apply (Z.mod_unique _ _ (s + 1)%Z); lia).
    assert (r = N - 1)%Z as R by lia.
    rewrite E1, E2, T0, Z.pow_add_r, mult_IZR by lia.
    change (2 ^ 1)%Z with 2%Z.
    assert (HT : IZR top_weight = 2 * IZR (top_weight / 2)) by (rewrite <- mult_IZR; reflexivity).
    replace (IZR top_weight / (IZR (2 ^ s) * 2)) with (IZR (top_weight / 2) / IZR (2 ^ s)) by (rewrite HT; field; lra).
    split.
    + apply Rmult_le_compat_r; [left; now apply Rinv_0_lt_compat |].
      apply IZR_le. pose proof (TB r M). lia.
    + pose proof (next_weight_ge p q (t r) P) as G. rewrite R in *.
      replace (IZR (t (N - 1)%Z) / IZR (2 ^ s) * IZR q)
        with (IZR (t (N - 1)%Z * q) / IZR (2 ^ s)) by (rewrite mult_IZR; field; lra).
      replace (IZR (top_weight / 2) / IZR (2 ^ s) * IZR p)
        with (IZR (top_weight / 2 * p) / IZR (2 ^ s)) by (rewrite mult_IZR; field; lra).
      apply Rmult_le_compat_r; [left; now apply Rinv_0_lt_compat |].
      apply IZR_le. nia.
Qed.

End Step.

(** ** 1 + x + x^2/2 < e^x *)

Lemma exp_taylor x n : 0 <= x -> sum_f_R0 (fun i => / INR (fact i) * x ^ i) n <= exp x.
Proof.
  intros X. unfold exp. destruct (exist_exp x) as [l H]. simpl.
  apply sum_incr; [exact H |].
  intros k. apply Rmult_le_pos; [left; apply Rinv_0_lt_compat, INR_fact_lt_0 | now apply pow_le].
Qed.

Lemma exp_second x : 0 < x -> 1 + x + x * x / 2 < exp x.
Proof.
  intros X. pose proof (exp_taylor x 3 ltac:(lra)) as H. simpl in H.
  assert (0 < x * (x * (x * 1))) by (repeat apply Rmult_lt_0_compat; lra). lra.
Qed.

(** Real levels of whole units. *)
Definition level (D : Z) : R := IZR D / 8192.

Theorem step_below_exp a b : (0 < a)%Z -> (0 < b)%Z ->
  IZR (step_p a b) < IZR (step_q a b) * exp (IZR a / IZR b * level 1) /\ (0 < step_q a b <= step_p a b)%Z.
Proof.
  intros A B. split; [| unfold step_q, step_p, level_bits; nia].
  assert (RA : 0 < IZR a) by now apply (IZR_lt 0). assert (RB : 0 < IZR b) by now apply (IZR_lt 0).
  set (x := IZR a / IZR b * level 1).
  assert (X : 0 < x).
  { unfold x, level. apply Rmult_lt_0_compat; [now apply Rdiv_lt_0_compat | lra]. }
  pose proof (exp_second x X) as E.
  assert (Q : 0 < IZR (step_q a b)).
  { apply (IZR_lt 0). unfold step_q, level_bits. nia. }
  apply (Rmult_lt_compat_l _ _ _ Q) in E.
  replace (IZR (step_p a b)) with (IZR (step_q a b) * (1 + x + x * x / 2)); [exact E |].
  unfold step_p, step_q, x, level, level_bits. rewrite !plus_IZR, !mult_IZR.
  change (IZR (2 ^ 13)) with 8192. field. lra.
Qed.

(** ** All of it for one exponent *)

Section Lipschitz.

(** A weight that never increases and falls by at most a factor e^x a unit. *)
Definition lipschitz (w : Z -> R) (x : R) : Prop :=
  forall D, (0 <= D)%Z -> 0 < w D /\ w (D + 1)%Z <= w D /\ w D <= exp x * w (D + 1)%Z.

Theorem recipe_lipschitz a b t N : (0 < a)%Z -> (0 < b)%Z -> follows (step_p a b) (step_q a b) t N ->
  lipschitz (weight t N) (IZR a / IZR b * level 1).
Proof.
  intros A B T D H. destruct (step_below_exp a b A B) as [E Q].
  pose proof (weight_pos _ _ _ _ T D H) as P0. pose proof (weight_pos _ _ _ _ T (D + 1) ltac:(lia)) as P1.
  destruct (weight_step _ _ _ _ Q T D H) as [M S].
  repeat split; auto.
  assert (Qp : 0 < IZR (step_q a b)) by (apply (IZR_lt 0); lia).
  apply (Rmult_le_reg_r (IZR (step_q a b))); [exact Qp |].
  apply Rle_trans with (1 := S).
  replace (exp (IZR a / IZR b * level 1) * weight t N (D + 1) * IZR (step_q a b))
    with (weight t N (D + 1) * (IZR (step_q a b) * exp (IZR a / IZR b * level 1))) by ring.
  apply Rmult_le_compat_l; lra.
Qed.

Variables (w : Z -> R) (x : R).
Hypothesis L : lipschitz w x.
Hypothesis x_nonneg : 0 <= x.

Lemma lipschitz_nat D n : (0 <= D)%Z ->
  w (D + Z.of_nat n)%Z <= w D /\ w D <= exp (INR n * x) * w (D + Z.of_nat n)%Z.
Proof.
  intros H. induction n as [| n [M B]].
  - rewrite Z.add_0_r. simpl INR. rewrite Rmult_0_l, exp_0. lra.
  - replace (D + Z.of_nat (S n))%Z with (D + Z.of_nat n + 1)%Z by lia.
    destruct (L (D + Z.of_nat n)%Z ltac:(lia)) as [P [M' S']]. split; [lra |].
    rewrite S_INR, Rmult_plus_distr_r, Rmult_1_l, exp_plus.
    apply Rle_trans with (1 := B). rewrite Rmult_assoc. apply Rmult_le_compat_l; [left; apply exp_pos | exact S'].
Qed.

(** |ln w(D) - ln w(D')| <= x |D - D'|, as two products. *)
Theorem lipschitz_far D D' k : (0 <= D)%Z -> (0 <= D')%Z -> (Z.abs (D - D') <= k)%Z -> w D <= exp (IZR k * x) * w D'.
Proof.
  intros H H' K.
  assert (G : forall n, (Z.of_nat n <= k)%Z -> exp (INR n * x) <= exp (IZR k * x)).
  { intros n B. destruct (Rle_lt_or_eq_dec (INR n * x) (IZR k * x)) as [l | e].
    - apply Rmult_le_compat_r; [exact x_nonneg | rewrite INR_IZR_INZ; now apply IZR_le].
    - left; now apply exp_increasing.
    - rewrite e; lra. }
  assert (P : forall E, (0 <= E)%Z -> 0 < w E) by (intros E HE; apply (L E HE)).
  destruct (Z_le_gt_dec D D') as [l | g].
  - destruct (lipschitz_nat D (Z.to_nat (D' - D)) H) as [_ S].
    replace (D + Z.of_nat (Z.to_nat (D' - D)))%Z with D' in S by lia.
    apply Rle_trans with (1 := S). apply Rmult_le_compat_r; [left; auto | apply G; lia].
  - destruct (lipschitz_nat D' (Z.to_nat (D - D')) H') as [M _].
    replace (D' + Z.of_nat (Z.to_nat (D - D')))%Z with D in M by lia.
    apply Rle_trans with (1 := M). rewrite <- (Rmult_1_l (w D')) at 1.
    apply Rmult_le_compat_r; [left; auto |].
    pose proof (G O ltac:(simpl; lia)) as G0. simpl INR in G0. rewrite Rmult_0_l, exp_0 in G0. exact G0.
Qed.

Lemma lipschitz_decreasing D D' : (0 <= D <= D')%Z -> w D' <= w D.
Proof.
  intros H. destruct (lipschitz_nat D (Z.to_nat (D' - D)) ltac:(lia)) as [M _].
  now replace (D + Z.of_nat (Z.to_nat (D' - D)))%Z with D' in M by lia.
Qed.

End Lipschitz.

(** ** The two exponents of reports, computed *)

Local Open Scope Z_scope.

Definition at_ (l : list Z) (j : Z) : Z := nth (Z.to_nat j) l 0.

(** The recipe ended: the fuel did not. *)
Definition ends_well (fuel : nat) (a b : Z) : bool :=
  let l := table fuel a b in
  (0 <? Z.of_nat (length l)) && (next_weight (step_p a b) (step_q a b) (last l 0) <=? top_weight / 2).

Lemma nth_last (l : list Z) : nth (length l - 1) l 0 = last l 0.
Proof.
  induction l as [| a [| b l] IH]; auto.
  change (last (a :: b :: l) 0) with (last (b :: l) 0). rewrite <- IH.
  change (length (a :: b :: l)) with (S (length (b :: l))). simpl length.
  replace (S (S (length l)) - 1)%nat with (S (S (length l) - 1)) by lia. reflexivity.
Qed.

Lemma table_follows fuel a b : ends_well fuel a b = true ->
  follows (step_p a b) (step_q a b) (at_ (table fuel a b)) (Z.of_nat (length (table fuel a b))).
Proof.
  unfold ends_well. cbn zeta. rewrite Bool.andb_true_iff, Z.ltb_lt, Z.leb_le.
  set (l := table fuel a b). intros [Pos End].
  destruct (recipe_follows (step_p a b) (step_q a b) fuel top_weight) as [A [B C]].
  fold (table fuel a b) in A, B, C. fold l in A, B, C.
  assert (NE : l <> []) by (intros e; rewrite e in Pos; simpl in Pos; lia).
  repeat split; unfold at_.
  - exact Pos.
  - exact (B NE).
  - intros j J K. replace (Z.to_nat (j + 1)) with (S (Z.to_nat j)) by lia. apply A. lia.
  - replace (Z.to_nat (Z.of_nat (length l) - 1)) with (length l - 1)%nat by lia.
    rewrite nth_last. exact End.
  - intros j [J K]. rewrite Forall_forall in C. apply C, nth_In. lia.
Qed.

Definition fuel : nat := Z.to_nat 12000.

(** Exponent 1/2 has 11,357 weights a halving, exponent 1 5,679. *)
Definition N_half : Z := Z.of_nat (length (table fuel 1 2)).
Definition N_one : Z := Z.of_nat (length (table fuel 1 1)).

Theorem periods : N_half = 11357 /\ N_one = 5679.
Proof. vm_compute. auto. Qed.

Definition t_half : Z -> Z := at_ (table fuel 1 2).
Definition t_one : Z -> Z := at_ (table fuel 1 1).

Theorem half_follows : follows (step_p 1 2) (step_q 1 2) t_half N_half.
Proof. apply table_follows. vm_compute. reflexivity. Qed.

Theorem one_follows : follows (step_p 1 1) (step_q 1 1) t_one N_one.
Proof. apply table_follows. vm_compute. reflexivity. Qed.

Definition w_half : Z -> R := weight t_half N_half.
Definition w_one : Z -> R := weight t_one N_one.

Theorem w_half_lipschitz : lipschitz w_half (level 1 / 2).
Proof.
  replace (level 1 / 2)%R with (1 / 2 * level 1)%R by field.
  apply (recipe_lipschitz 1 2); [lia | lia | apply half_follows].
Qed.

Theorem w_one_lipschitz : lipschitz w_one (level 1).
Proof.
  replace (level 1) with (1 / 1 * level 1)%R by field.
  apply (recipe_lipschitz 1 1); [lia | lia | apply one_follows].
Qed.
