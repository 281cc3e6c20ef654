(* SPDX-License-Identifier: Apache-2.0 *)
(** What rounding does to the law of a released trace: the lemma of docs/traces.md, for the program's own numbers.

    Every product and every sum of two numbers may be off by a factor e^(+-u), as those of doubles that are not near the
    smallest one are (u = 2^-53 / (1 - 2^-53), [one_rounding]). Draws are exact for the numbers they are made from.

    Code: [_kernels/traces.py] ([filter_steps], [block_sums]), [traces/passes.py] ([draw]), [traces/rounding.py]. *)

From Coq Require Import Reals ZArith List Lra Lia.
From Geoelastic Require Import Graph Sums Weights Mechanism Trace.
Import ListNotations.
Local Open Scope R_scope.

(** A double is off by a factor of 1 + delta, |delta| <= e = 2^-53. *)
Theorem one_rounding e delta : 0 <= e < 1 -> - e <= delta <= e -> exp (- (e / (1 - e))) <= 1 + delta <= exp (e / (1 - e)).
Proof.
  intros E D. assert (low : forall t, 1 + t <= exp t).
  { intros t. destruct (Req_dec t 0) as [-> | N]; [rewrite exp_0; lra | left; now apply exp_ineq1]. }
  assert (q : e <= e / (1 - e)).
  { apply (Rmult_le_reg_r (1 - e)); [lra |]. replace (e / (1 - e) * (1 - e)) with e by (field; lra). nra. }
  split; [| pose proof (low (e / (1 - e))); lra].
  rewrite exp_Ropp. pose proof (low (e / (1 - e))) as L.
  replace (1 + e / (1 - e)) with (/ (1 - e)) in L by (field; lra).
  assert (I : 0 < / (1 - e)) by (apply Rinv_0_lt_compat; lra).
  apply Rinv_le_contravar in L; [| exact I]. rewrite Rinv_inv in L. lra.
Qed.

Section Rounding.

Variable u : R.
Hypothesis u_nonneg : 0 <= u.

(** b is a, but for k roundings. *)
Definition off (k b a : R) : Prop := exp (- (k * u)) * a <= b <= exp (k * u) * a.

Lemma off_refl a : off 0 a a.
Proof. unfold off. rewrite Rmult_0_l, Ropp_0, exp_0. lra. Qed.

Lemma off_trans k l a b c : off k b a -> off l c b -> off (k + l) c a.
Proof.
  intros [A1 A2] [B1 B2]. unfold off. rewrite Rmult_plus_distr_r, Ropp_plus_distr, !exp_plus.
  pose proof (exp_pos (l * u)). pose proof (exp_pos (- (l * u))). split.
  - apply Rle_trans with (2 := B1). rewrite (Rmult_comm (exp (- (k * u)))), Rmult_assoc. apply Rmult_le_compat_l; lra.
  - apply Rle_trans with (1 := B2). rewrite (Rmult_comm (exp (k * u))), Rmult_assoc. apply Rmult_le_compat_l; lra.
Qed.

Lemma off_more k l a b : 0 <= a -> k <= l -> off k b a -> off l b a.
Proof.
  intros a0 L [A B]. assert (k * u <= l * u) by (apply Rmult_le_compat_r; lra). split.
  - apply Rle_trans with (2 := A). apply Rmult_le_compat_r; [exact a0 | apply exp_le; lra].
  - apply Rle_trans with (1 := B). apply Rmult_le_compat_r; [exact a0 | apply exp_le; lra].
Qed.

Lemma off_scale c k a b : 0 <= c -> off k b a -> off k (c * b) (c * a).
Proof.
  intros c0 [A B]. split.
  - replace (exp (- (k * u)) * (c * a)) with (c * (exp (- (k * u)) * a)) by ring. now apply Rmult_le_compat_l.
  - replace (exp (k * u) * (c * a)) with (c * (exp (k * u) * a)) by ring. now apply Rmult_le_compat_l.
Qed.

Lemma off_plus k a b a' b' : off k b a -> off k b' a' -> off k (b + b') (a + a').
Proof. intros [A B] [C D]. split; rewrite Rmult_plus_distr_l; lra. Qed.

Lemma off_zero k b : off k b 0 -> b = 0.
Proof. intros [A B]. rewrite Rmult_0_r in A, B. lra. Qed.

Lemma off_nonneg k a b : 0 <= a -> off k b a -> 0 <= b.
Proof. intros a0 [A _]. apply Rle_trans with (2 := A). apply Rmult_le_pos; [left; apply exp_pos | exact a0]. Qed.

Lemma off_positive k a b : 0 < a -> off k b a -> 0 < b.
Proof. intros a0 [A _]. apply Rlt_le_trans with (2 := A). apply Rmult_lt_0_compat; [apply exp_pos | exact a0]. Qed.

(** Numbers added one after the other, each sum rounded: off by a rounding for each but the first. *)
Inductive added : R -> list R -> R -> Prop :=
| added_none r : added r [] r
| added_one r v r' l t : off 1 r' (r + v) -> added r' l t -> added r (v :: l) t.

Theorem added_off r l t : 0 <= r -> (forall v, In v l -> 0 <= v) -> added r l t -> off (INR (length l)) t (r + sum (fun v => v) l).
Proof.
  intros r0 P A.
  enough (Q : forall k exact, 0 <= k -> 0 <= exact -> off k r exact -> off (k + INR (length l)) t (exact + sum (fun v => v) l)).
  { rewrite <- (Rplus_0_l (INR _)). apply Q; auto using off_refl; lra. }
  clear r0. induction A as [r | r v r' l t O A IH]; intros k exact k0 e0 K.
  - simpl. rewrite !Rplus_0_r. exact K.
  - change (length (v :: l)) with (S (length l)). rewrite S_INR. simpl sum.
    assert (v0 : 0 <= v) by (apply P; simpl; auto).
    replace (k + (INR (length l) + 1)) with (k + 1 + INR (length l)) by ring.
    rewrite <- Rplus_assoc. apply IH; [intros w W; apply P; simpl; auto | lra | lra |].
    apply off_trans with (r + v); [| exact O]. apply off_plus; [exact K |].
    apply (off_more 0); [exact v0 | exact k0 | apply off_refl].
Qed.

(** ** The program *)

Variable V : Type.
Variable eq_dec : forall a b : V, {a = b} + {a <> b}.

(** Places are summed up in blocks; [home] is the block of a place. *)
Variable blocks : list (list V).
Variable home : V -> list V.
Hypothesis at_home : forall b z, In b blocks -> In z b -> home z = b.
Definition places : list V := concat blocks.
Hypothesis once : NoDup places.

(** Roundings of the sum of a block (511) and of the blocks' sums (one less than there are). *)
Variables inner outer : R.
Hypothesis inner_nonneg : 0 <= inner.
Hypothesis outer_nonneg : 0 <= outer.

Variable keep : R.
Hypothesis keep_nonneg : 0 <= keep.
Variable jump : V -> R.
Hypothesis jump_nonneg : forall z, 0 <= jump z.
Variable before : option V.

Notation psi := (psi V eq_dec keep jump).

(** One step forwards: keep x a(z) and jump(z) x s as rounded, their sum, a; sums of blocks, and of all. *)
Record pass := { kept : V -> R; jumped : V -> R; both : V -> R; a : V -> R; block_sum : list V -> R; all : R }.

Definition total (p : pass) : R := sum (block_sum p) blocks.

Definition summed (p : pass) : Prop :=
  (forall z, 0 <= a p z) /\ (forall b, In b blocks -> off inner (block_sum p b) (sum (a p) b)) /\
  off outer (all p) (total p) /\ 0 < total p.

Definition goes_on (p' p : pass) (g : V -> R) : Prop := forall z,
  off 1 (kept p z) (keep * a p' z) /\ off 1 (jumped p z) (jump z * all p') /\
  off 1 (both p z) (kept p z + jumped p z) /\ off 1 (a p z) (both p z * g z).

(** The last step first; [g] are the weights of a step. *)
Inductive run : list (V -> R) -> list pass -> Prop :=
| run_first g p : (forall z, 0 <= g z) -> summed p -> (forall z, off 3 (a p z) (psi before z * g z)) -> run [g] [p]
| run_next g gs p p' ps : (forall z, 0 <= g z) -> run gs (p' :: ps) -> summed p -> goes_on p' p g -> run (g :: gs) (p :: p' :: ps).

(** A draw from a step: a block by the blocks' sums, then a place by its share of the block. *)
Definition draw (p : pass) (z : V) : R := block_sum p (home z) / total p * (a p z / sum (a p) (home z)).

(** Backwards from z: kept, or drawn anew. *)
Fixpoint back (p : pass) (z : V) (ps : list pass) (ys : list V) : R :=
  match ps, ys with
  | p' :: ps', y :: ys' =>
      ((if eq_dec y z then kept p z else 0) + jumped p z * draw p' y) / (kept p z + jumped p z) * back p' y ps' ys'
  | _, _ => 1
  end.

(** The law of a release, its last place first. *)
Definition law (ps : list pass) (Z : list V) : R :=
  match ps, Z with p :: ps', z :: ys => draw p z * back p z ps' ys | _, _ => 1 end.

(** The numerator of K, its last place first. *)
Fixpoint num (gs : list (V -> R)) (Z : list V) : R :=
  match gs, Z with
  | g :: gs', z :: ys => psi (match ys with [] => before | y :: _ => Some y end) z * g z * num gs' ys
  | _, _ => 1
  end.

Lemma run_head gs p ps : run gs (p :: ps) -> summed p.
Proof. now inversion 1. Qed.

Lemma in_home z : In z places -> In (home z) blocks /\ In z (home z).
Proof. intros I. apply in_concat in I as [b [B I]]. rewrite (at_home b z B I). auto. Qed.

Lemma draw_off p z : summed p -> In z places -> off inner (total p * draw p z) (a p z).
Proof.
  intros [a0 [B [_ T]]] I. destruct (in_home z I) as [H J]. unfold draw. specialize (B _ H).
  set (part := a p z / sum (a p) (home z)).
  replace (total p * (block_sum p (home z) / total p * part)) with (part * block_sum p (home z)) by (field; lra). unfold part.
  pose proof (sum_member V (a p) (home z) z (fun b _ => a0 b) J) as M. pose proof (a0 z) as z0.
  destruct (Req_dec (sum (a p) (home z)) 0) as [e | N].
  - assert (a p z = 0) as -> by lra. unfold Rdiv. rewrite !Rmult_0_l. split; rewrite Rmult_0_r; lra.
  - replace (a p z) with (a p z / sum (a p) (home z) * sum (a p) (home z)) at 2 by (field; exact N).
    apply off_scale; [apply Rle_mult_inv_pos; lra | exact B].
Qed.

Lemma draw_nonneg p z : summed p -> In z places -> 0 <= draw p z.
Proof.
  intros S I. pose proof (draw_off p z S I) as O. destruct S as [a0 [_ [_ T]]].
  apply off_nonneg in O; [| apply a0]. apply (Rmult_le_reg_l (total p)); lra.
Qed.

Lemma back_nonneg gs p ps : run gs (p :: ps) -> forall z ys, (forall y, In y ys -> In y places) -> 0 <= back p z ps ys.
Proof.
  intros R. remember (p :: ps) as all_ps eqn:eq. revert p ps eq.
  induction R as [g q g0 S F | g gs q p' ps' g0 R IH S F]; intros p ps eq z ys J; injection eq as -> <-; [simpl; lra |].
  destruct ys as [| y ys]; simpl; [lra |]. pose proof (run_head _ _ _ R) as S'. destruct (F z) as [F1 [F2 _]].
  pose proof S' as [a0' [_ [Al T']]]. pose proof (off_positive _ _ _ T' Al) as A'.
  assert (k0 : 0 <= kept p z) by (apply off_nonneg with (2 := F1); apply Rmult_le_pos; auto).
  assert (j0 : 0 <= jumped p z) by (apply off_nonneg with (2 := F2); apply Rmult_le_pos; auto; lra).
  pose proof (draw_nonneg p' y S' (J y (or_introl eq_refl))) as d0.
  assert (0 <= jumped p z * draw p' y) by now apply Rmult_le_pos.
  apply Rmult_le_pos; [| apply (IH p' ps' eq_refl); intros v Hv; apply J; simpl; auto].
  destruct (Req_dec (kept p z + jumped p z) 0) as [e | N].
  - rewrite e. unfold Rdiv. rewrite Rinv_0. lra.
  - apply Rle_mult_inv_pos; [destruct (eq_dec y z); lra | lra].
Qed.

(** *** The lemma: the law is the numerator over what does not depend on the release, but for so many roundings *)

Definition each : R := inner + outer + 3.

Lemma back_off gs p ps : run gs (p :: ps) -> forall z ys, In z places -> (forall y, In y ys -> In y places) ->
  length ys = length ps -> 0 <= num gs (z :: ys) /\ off (each * INR (length gs) - inner) (a p z * back p z ps ys) (num gs (z :: ys)).
Proof.
  intros R. remember (p :: ps) as all_ps eqn:eq. revert p ps eq.
  induction R as [g q g0 S F | g gs q p' ps' g0 R IH S F]; intros p ps eq z ys I J L.
  - injection eq as -> <-. destruct ys; [| discriminate]. simpl.
    pose proof (psi_nonneg V eq_dec keep keep_nonneg jump jump_nonneg before z) as P0.
    assert (0 <= psi before z * g z) by (apply Rmult_le_pos; auto).
    split; [lra |]. rewrite !Rmult_1_r. apply (off_more 3); auto. unfold each. lra.
  - injection eq as -> <-. destruct ys as [| y ys]; [discriminate |]. injection L as L.
    assert (Iy : In y places) by (apply J; simpl; auto).
    destruct (IH p' ps' eq_refl y ys Iy (fun v H => J v (or_intror H)) L) as [N0 O].
    pose proof (run_head _ _ _ R) as S'. destruct (F z) as [F1 [F2 [F3 F4]]].
    pose proof S' as [a0' [_ [Al T']]]. pose proof (off_positive _ _ _ T' Al) as A'.
    assert (k0 : 0 <= kept p z) by (apply off_nonneg with (2 := F1); apply Rmult_le_pos; auto).
    assert (j0 : 0 <= jumped p z) by (apply off_nonneg with (2 := F2); apply Rmult_le_pos; auto; lra).
    pose proof (draw_nonneg p' y S' Iy) as d0.
    set (num' := num gs (y :: ys)) in *. set (rest := back p' y ps' ys) in *.
    set (mix := (if eq_dec y z then kept p z else 0) + jumped p z * draw p' y).
    assert (j1 : 0 <= jumped p z * draw p' y) by (apply Rmult_le_pos; auto).
    assert (mix0 : 0 <= mix) by (unfold mix; destruct (eq_dec y z); lra).
    (* a(z) over kept + jumped is the weight *)
    assert (O1 : off 2 (a p z * (mix / (kept p z + jumped p z))) (g z * mix)).
    { assert (Q : off 2 (a p z) (g z * (kept p z + jumped p z))).
      { replace 2 with (1 + 1) by ring. apply off_trans with (both p z * g z); [| exact F4].
        rewrite (Rmult_comm (both p z)). apply off_scale; auto. }
      destruct (Req_dec (kept p z + jumped p z) 0) as [e | N].
      - assert (jz : jumped p z = 0) by lra. assert (kz : kept p z = 0) by lra.
        assert (mz : mix = 0) by (unfold mix; rewrite jz, kz; destruct (eq_dec y z); ring).
        rewrite mz. unfold Rdiv. rewrite Rmult_0_l, !Rmult_0_r. split; rewrite Rmult_0_r; lra.
      - replace (a p z * (mix / (kept p z + jumped p z))) with (mix / (kept p z + jumped p z) * a p z) by ring.
        replace (g z * mix) with (mix / (kept p z + jumped p z) * (g z * (kept p z + jumped p z))) by (field; exact N).
        apply off_scale; [apply Rle_mult_inv_pos; lra | exact Q]. }
    (* what was kept or drawn is psi(y, z) a(y) *)
    assert (O2 : off (1 + (outer + inner)) mix (psi (Some y) z * a p' y)).
    { unfold mix, Trace.psi. rewrite Rmult_plus_distr_r. apply off_plus.
      - destruct (eq_dec y z) as [-> | N]; [| rewrite Rmult_0_l; split; rewrite Rmult_0_r; lra].
        apply (off_more 1); [apply Rmult_le_pos; auto | lra | exact F1].
      - replace (1 + (outer + inner)) with ((inner + outer) + 1) by ring.
        apply off_trans with (jump z * (all p' * draw p' y)).
        + apply off_scale; auto. apply off_trans with (total p' * draw p' y); [now apply draw_off |].
          rewrite !(Rmult_comm _ (draw p' y)). now apply off_scale.
        + replace (jump z * (all p' * draw p' y)) with (draw p' y * (jump z * all p')) by ring.
          rewrite (Rmult_comm (jumped p z)). now apply off_scale. }
    assert (P0 : 0 <= psi (Some y) z) by (apply psi_nonneg; auto).
    assert (pg : 0 <= psi (Some y) z * g z) by (apply Rmult_le_pos; auto).
    assert (r0 : 0 <= rest) by (apply (back_nonneg gs p' ps' R); intros v Hv; apply J; simpl; auto).
    change (num (g :: gs) (z :: y :: ys)) with (psi (Some y) z * g z * num').
    change (back p z (p' :: ps') (y :: ys)) with (mix / (kept p z + jumped p z) * rest).
    split; [now apply Rmult_le_pos |].
    replace (each * INR (length (g :: gs)) - inner) with ((each * INR (length gs) - inner) + ((1 + (outer + inner)) + 2))
      by (unfold each; change (length (g :: gs)) with (Datatypes.S (length gs)); rewrite S_INR; ring).
    apply off_trans with (psi (Some y) z * g z * (a p' y * rest)); [now apply off_scale |].
    replace (psi (Some y) z * g z * (a p' y * rest)) with (rest * (g z * (psi (Some y) z * a p' y))) by ring.
    replace (a p z * (mix / (kept p z + jumped p z) * rest)) with (rest * (a p z * (mix / (kept p z + jumped p z)))) by ring.
    apply off_scale; [exact r0 |]. apply off_trans with (g z * mix); [apply off_scale; auto | exact O1].
Qed.

Lemma law_off gs p ps z ys : run gs (p :: ps) -> In z places -> (forall y, In y ys -> In y places) -> length ys = length ps ->
  0 <= num gs (z :: ys) /\ off (each * INR (length gs)) (total p * law (p :: ps) (z :: ys)) (num gs (z :: ys)).
Proof.
  intros R I J L. destruct (back_off _ _ _ R z ys I J L) as [N O]. split; [exact N |].
  pose proof (run_head _ _ _ R) as S. simpl law.
  replace (each * INR (length gs)) with ((each * INR (length gs) - inner) + inner) by ring.
  apply off_trans with (1 := O).
  replace (total p * (draw p z * back p z ps ys)) with (back p z ps ys * (total p * draw p z)) by ring.
  rewrite (Rmult_comm (a p z)). apply off_scale; [eapply back_nonneg; eauto | now apply draw_off].
Qed.

(** *** It is a law: over all releases it sums to 1 *)

Notation sequences := (sequences V places).

Lemma sum_flat_map {A B} (f : B -> R) (g : A -> list B) l : sum f (flat_map g l) = sum (fun x => sum f (g x)) l.
Proof. induction l as [| x l IH]; simpl; [reflexivity | now rewrite sum_app, IH]. Qed.

Lemma sum_map {A B} (f : B -> R) (g : A -> B) l : sum f (map g l) = sum (fun x => f (g x)) l.
Proof. induction l as [| x l IH]; simpl; congruence. Qed.

Lemma sum_sequences n (f : list V -> R) : sum f (sequences (S n)) = sum (fun z => sum (fun ys => f (z :: ys)) (sequences n)) places.
Proof. simpl. rewrite sum_flat_map. apply sum_ext. intros z _. apply sum_map. Qed.

Lemma draw_total p : summed p -> sum (draw p) places = 1.
Proof.
  intros [a0 [B [_ T]]].
  assert (Q : forall l, incl l blocks -> sum (draw p) (concat l) = / total p * sum (block_sum p) l).
  { induction l as [| b l IH]; intros I; simpl; [ring |]. rewrite sum_app, IH by (intros x X; apply I; simpl; auto).
    assert (Ib : In b blocks) by (apply I; simpl; auto). rewrite Rmult_plus_distr_l. f_equal.
    rewrite (sum_ext _ _ (fun z => block_sum p b / total p * / sum (a p) b * a p z)).
    - rewrite sum_scale. destruct (Req_dec (sum (a p) b) 0) as [e | N]; [| field; split; lra].
      specialize (B b Ib). rewrite e in B. apply off_zero in B. rewrite B, e. unfold Rdiv. ring.
    - intros z Z. unfold draw. rewrite (at_home b z Ib Z). unfold Rdiv. ring. }
  unfold places. rewrite (Q blocks (incl_refl _)). unfold total in *. field. lra.
Qed.

Lemma sum_one (z : V) (c : R) l : NoDup l -> In z l -> sum (fun y => if eq_dec y z then c else 0) l = c.
Proof.
  induction l as [| y l IH]; intros ND I; [destruct I |]. inversion ND as [| ? ? NI ND']; subst. simpl.
  destruct (eq_dec y z) as [-> | N].
  - rewrite (sum_ext _ _ (fun _ => 0)); [assert (Z0 : sum (fun _ : V => 0) l = 0) by (clear; induction l; simpl; lra); lra |].
    intros y Y. destruct (eq_dec y z) as [-> |]; [contradiction | reflexivity].
  - destruct I as [-> | I]; [contradiction |]. rewrite IH by assumption. ring.
Qed.

Lemma back_total gs p ps : run gs (p :: ps) -> forall z, In z places -> a p z <> 0 ->
  sum (back p z ps) (sequences (length ps)) = 1.
Proof.
  intros R. remember (p :: ps) as all_ps eqn:eq. revert p ps eq.
  induction R as [g q g0 S F | g gs q p' ps' g0 R IH S F]; intros p ps eq z I A; injection eq as -> <-.
  - simpl. ring.
  - pose proof (run_head _ _ _ R) as S'. destruct (F z) as [F1 [F2 [F3 F4]]].
    pose proof S' as [a0' [_ [Al T']]]. pose proof (off_positive _ _ _ T' Al) as A'.
    set (c := kept p z + jumped p z) in *.
    assert (C : c <> 0).
    { intros e. rewrite e in F3. apply off_zero in F3. rewrite F3, Rmult_0_l in F4. now apply off_zero in F4. }
    simpl length. rewrite sum_sequences.
    rewrite (sum_ext _ _ (fun y => / c * (if eq_dec y z then kept p z else 0) + / c * jumped p z * draw p' y)).
    + rewrite sum_plus, !sum_scale, sum_one, draw_total by auto. unfold c in *. field. exact C.
    + intros y Y. simpl. fold c. rewrite sum_scale.
      destruct (Req_dec (a p' y) 0) as [e | N].
      * assert (D : draw p' y = 0) by (unfold draw; rewrite e; unfold Rdiv; ring).
        assert (K : (if eq_dec y z then kept p z else 0) = 0).
        { destruct (eq_dec y z) as [-> |]; [| reflexivity]. rewrite e, Rmult_0_r in F1. now apply off_zero in F1. }
        rewrite D, K. unfold Rdiv. ring.
      * rewrite (IH p' ps' eq_refl y Y N). unfold Rdiv. ring.
Qed.

Theorem law_total gs p ps : run gs (p :: ps) -> sum (law (p :: ps)) (sequences (S (length ps))) = 1.
Proof.
  intros R. rewrite sum_sequences, <- (draw_total p (run_head _ _ _ R)). apply sum_ext. intros z I. simpl law. rewrite sum_scale.
  destruct (Req_dec (a p z) 0) as [e | N]; [unfold draw; rewrite e; unfold Rdiv; ring |].
  rewrite (back_total _ _ _ R z I N). ring.
Qed.

(** *** What the program draws is private, up to its roundings *)

Variable E : list (V * V * Z).
Hypothesis E_whole : whole E.

Notation habit := (habit V eq_dec keep jump).
Notation fit := (fit V eq_dec E).

Lemma sequences_in n : forall Y, In Y (sequences n) <-> length Y = n /\ forall y, In y Y -> In y places.
Proof.
  induction n as [| n IH]; intros Y; simpl.
  - split; [intros [<- | []]; simpl; tauto | intros [L _]; destruct Y; [now left | discriminate]].
  - rewrite in_flat_map. split.
    + intros [z [I M]]. apply in_map_iff in M as [ys [<- J]]. apply IH in J as [L F]. simpl.
      split; [congruence | intros y [<- | H]; auto].
    + intros [L F]. destruct Y as [| z ys]; [discriminate |]. exists z. split; [apply F; simpl; auto |].
      apply in_map, IH. split; [injection L; auto | intros y H; apply F; simpl; auto].
Qed.

(** The weights of the steps at x. *)
Fixpoint given (st : steps) (x : list V) : list (V -> R) :=
  match st, x with (w, _) :: st', b :: x' => (fun z => weigh w (dist eq_dec E b z)) :: given st' x' | _, _ => [] end.

Fixpoint product (gs : list (V -> R)) (Z : list V) : R :=
  match gs, Z with g :: gs', z :: Z' => g z * product gs' Z' | _, _ => 1 end.

(** The program's weights are these times a constant a step: whole numbers over the largest, and powers of two that keep
    sums away from the smallest double. *)
Fixpoint scaled (cs : list R) (gs : list (V -> R)) : list (V -> R) :=
  match cs, gs with c :: cs', g :: gs' => (fun z => c * g z) :: scaled cs' gs' | _, _ => [] end.

Definition constants (cs : list R) : R := fold_right Rmult 1 cs.

Lemma constants_positive cs : Forall (fun c => 0 < c) cs -> 0 < constants cs.
Proof. induction 1; simpl; [lra | now apply Rmult_lt_0_compat]. Qed.

Lemma scaled_length cs : forall gs, length cs = length gs -> length (scaled cs gs) = length gs.
Proof. induction cs as [| c cs IH]; intros [| g gs] L; simpl in *; auto; discriminate. Qed.

Lemma scaled_product cs : forall gs Z, length cs = length gs -> length Z = length gs ->
  product (scaled cs gs) Z = constants cs * product gs Z.
Proof.
  induction cs as [| c cs IH]; intros [| g gs] [| z Z] L M; simpl in *; try discriminate; [ring |].
  rewrite IH by congruence. ring.
Qed.

Lemma fit_product st : forall x Z, fit st x Z = product (given st x) Z.
Proof. induction st as [| [w s] st IH]; intros [| b x] [| z Z]; simpl; auto. now rewrite IH. Qed.

Definition latest (b : option V) (ys : list V) : option V := match ys with [] => b | y :: _ => Some y end.

Lemma habit_last Z z : forall b, habit b (Z ++ [z]) = habit b Z * psi (latest b (rev Z)) z.
Proof.
  induction Z as [| y Z IH]; intros b; simpl; [ring |]. rewrite IH, Rmult_assoc. do 2 f_equal. f_equal.
  unfold latest. destruct (rev Z); reflexivity.
Qed.

Lemma product_last gs g z : forall Z, length Z = length gs -> product (gs ++ [g]) (Z ++ [z]) = product gs Z * g z.
Proof.
  induction gs as [| f gs IH]; intros [| y Z] L; simpl; try discriminate; [ring |].
  rewrite IH by (injection L; auto). ring.
Qed.

Lemma num_numerator gs : forall Z, length Z = length gs -> num (rev gs) (rev Z) = habit before Z * product gs Z.
Proof.
  induction gs as [| g gs IH] using rev_ind; intros Z L.
  - destruct Z; [simpl; ring | discriminate].
  - rewrite app_length in L. simpl in L. destruct Z as [| z Z _] using rev_ind; [simpl in L; lia |].
    rewrite app_length in L. simpl in L. assert (L' : length Z = length gs) by lia.
    rewrite !rev_app_distr, habit_last, product_last by exact L'. simpl. fold (latest before (rev Z)).
    rewrite (IH Z L'). ring.
Qed.

Lemma run_length gs ps : run gs ps -> length gs = length ps.
Proof. induction 1; simpl in *; congruence. Qed.

(** A run of the program at x. *)
Definition runs (st : steps) (x : list V) (q : pass) (qs : list pass) : Prop :=
  exists cs, Forall (fun c => 0 < c) cs /\ length cs = length st /\ run (rev (scaled cs (given st x))) (q :: qs).

Lemma runs_length st x x' c q qs : apart V eq_dec E st x x' c -> runs st x q qs ->
  length (given st x) = length st /\ length st = S (length qs).
Proof.
  intros A [cs [_ [L R]]]. assert (length (given st x) = length st) as G by (clear - A; induction A; simpl; congruence).
  split; [exact G |]. apply run_length in R. rewrite rev_length, scaled_length in R by congruence. simpl in R. congruence.
Qed.

(** The lemma of docs/traces.md: P(Z | x) = N(Z | x) E / C(x), where |ln E| <= eta and C does not depend on Z. *)
Theorem program_law st x x' c q qs (eta := each * INR (length st) * u) : apart V eq_dec E st x x' c -> runs st x q qs ->
  exists C, 0 < C /\ forall Z, In Z (sequences (length st)) ->
    exp (- eta) * (habit before Z * fit st x Z) <= C * law (q :: qs) (rev Z) <= exp eta * (habit before Z * fit st x Z).
Proof.
  intros A R. destruct (runs_length _ _ _ _ _ _ A R) as [G N]. destruct R as [cs [P [L R]]].
  pose proof (constants_positive cs P) as K. pose proof (run_head _ _ _ R) as [_ [_ [_ T]]].
  exists (total q / constants cs). split; [now apply Rdiv_lt_0_compat |]. intros Z I.
  apply sequences_in in I as [LZ F]. set (gs := rev (scaled cs (given st x))) in *.
  assert (Ls : length (scaled cs (given st x)) = length st) by (rewrite scaled_length; congruence).
  assert (Q : num gs (rev Z) = constants cs * (habit before Z * fit st x Z)).
  { unfold gs. rewrite num_numerator, scaled_product, fit_product by congruence. ring. }
  destruct (rev Z) as [| z ys] eqn:e; [apply (f_equal (@length V)) in e; rewrite rev_length in e; simpl in e; lia |].
  assert (J : forall y, In y (z :: ys) -> In y places) by (intros y H; apply F, in_rev; now rewrite e).
  assert (Ly : length ys = length qs).
  { apply (f_equal (@length V)) in e. rewrite rev_length in e. simpl in e. lia. }
  destruct (law_off _ _ _ z ys R (J z (or_introl eq_refl)) (fun y H => J y (or_intror H)) Ly) as [_ O].
  apply (off_scale (/ constants cs)) in O; [| left; now apply Rinv_0_lt_compat].
  rewrite Q in O. unfold gs in O. rewrite rev_length, Ls in O.
  replace (/ constants cs * (constants cs * (habit before Z * fit st x Z))) with (habit before Z * fit st x Z) in O by (field; lra).
  replace (total q / constants cs * law (q :: qs) (z :: ys)) with (/ constants cs * (total q * law (q :: qs) (z :: ys))) by (field; lra).
  exact O.
Qed.

Lemma runs_total st x x' c q qs : apart V eq_dec E st x x' c -> runs st x q qs -> sum (law (q :: qs)) (sequences (length st)) = 1.
Proof. intros A R. rewrite (proj2 (runs_length _ _ _ _ _ _ A R)). destruct R as [cs [_ [_ R]]]. exact (law_total _ _ _ R). Qed.

Theorem program_private st x x' c Z p ps p' ps' (eta := each * INR (length st) * u) : good st ->
  apart V eq_dec E st x x' c -> runs st x p ps -> runs st x' p' ps' -> In Z (sequences (length st)) ->
  law (p :: ps) (rev Z) <= exp (2 * c + 4 * eta) * law (p' :: ps') (rev Z).
Proof.
  intros G A R R' I. pose proof (apart_sym V eq_dec E E_whole _ _ _ _ A) as A'.
  destruct (program_law _ _ _ _ _ _ A R) as [C [C0 B]]. destruct (program_law _ _ _ _ _ _ A' R') as [C' [C0' B']].
  fold eta in B, B'.
  assert (N : forall y Y, 0 <= habit before Y * fit st y Y)
    by (intros; apply Rmult_le_pos; [now apply habit_nonneg | now apply fit_nonneg]).
  assert (step : forall y y' Y, apart V eq_dec E st y y' c ->
    exp eta * (habit before Y * fit st y Y) <= exp (c + 2 * eta) * (exp (- eta) * (habit before Y * fit st y' Y))).
  { intros y y' Y Q. pose proof (fit_near V eq_dec E E_whole st _ _ _ G Q Y) as F.
    replace (exp (c + 2 * eta) * (exp (- eta) * (habit before Y * fit st y' Y)))
      with (exp eta * (habit before Y * (exp c * fit st y' Y))).
    - apply Rmult_le_compat_l; [left; apply exp_pos |]. apply Rmult_le_compat_l; [now apply habit_nonneg | exact F].
    - rewrite <- (Rmult_assoc (exp (c + 2 * eta))), <- exp_plus. replace (c + 2 * eta + - eta) with (eta + c) by ring.
      rewrite exp_plus. ring. }
  assert (back_in : forall Y, In Y (sequences (length st)) -> In (rev Y) (sequences (length st))).
  { intros Y J. apply sequences_in in J as [L F]. apply sequences_in. rewrite rev_length.
    split; [exact L |]. intros y H. apply F. now apply in_rev. }
  assert (shares : forall D q qs, 0 < D -> sum (law (q :: qs)) (sequences (length st)) = 1 -> forall Y,
    law (q :: qs) Y = share (fun Y => D * law (q :: qs) Y) (sequences (length st)) Y).
  { intros D q qs D0 S Y. unfold share. rewrite sum_scale, S. field. lra. }
  rewrite (shares C p ps C0 (runs_total _ _ _ _ _ _ A R)), (shares C' p' ps' C0' (runs_total _ _ _ _ _ _ A' R')).
  replace (2 * c + 4 * eta) with ((c + 2 * eta) + (c + 2 * eta)) by ring. rewrite exp_plus.
  assert (both_ways : forall Y, In Y (sequences (length st)) -> 
    0 <= C * law (p :: ps) Y /\ 0 <= C' * law (p' :: ps') Y /\
    C * law (p :: ps) Y <= exp (c + 2 * eta) * (C' * law (p' :: ps') Y) /\
    C' * law (p' :: ps') Y <= exp (c + 2 * eta) * (C * law (p :: ps) Y)).
  { intros Y J. apply back_in in J. specialize (B _ J). specialize (B' _ J). rewrite rev_involutive in B, B'.
    pose proof (step _ _ (rev Y) A) as S1. pose proof (step _ _ (rev Y) A') as S2.
    pose proof (exp_pos (c + 2 * eta)) as X. pose proof (exp_pos (- eta)) as X'.
    assert (0 <= exp (- eta) * (habit before (rev Y) * fit st x (rev Y))) by (apply Rmult_le_pos; [lra | apply N]).
    assert (0 <= exp (- eta) * (habit before (rev Y) * fit st x' (rev Y))) by (apply Rmult_le_pos; [lra | apply N]).
    assert (exp (c + 2 * eta) * (exp (- eta) * (habit before (rev Y) * fit st x' (rev Y))) <= exp (c + 2 * eta) * (C' * law (p' :: ps') Y))
      by (apply Rmult_le_compat_l; lra).
    assert (exp (c + 2 * eta) * (exp (- eta) * (habit before (rev Y) * fit st x (rev Y))) <= exp (c + 2 * eta) * (C * law (p :: ps) Y))
      by (apply Rmult_le_compat_l; lra).
    repeat split; lra. }
  apply share_private; try (intros Y J; now apply both_ways); [now apply back_in | left; apply exp_pos].
Qed.

End Rounding.
