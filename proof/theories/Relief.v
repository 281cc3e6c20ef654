(* SPDX-License-Identifier: Apache-2.0 *)
(** Sharpened reports: weights with exponent 1 over a lowered graph, certified edge by edge.

    Code: [metric/relief.py] ([lowered]), [metric/sharpen.py]; docs/sharpening.md. *)

From Coq Require Import Reals ZArith List Lra Lia Bool Psatz.
From Geoelastic Require Import Graph Sums Weights Mechanism.
Import ListNotations.
Local Open Scope R_scope.

(** w'(e) = max(0, w - floor(w / 2^slack) - 4 - |h(u) - h(v)|). What follows holds for any slack: of one below 0 the
    quotient is 0, as that of a division by 0 is in Coq. *)
Definition lower (slack hu hv w : Z) : Z := Z.max 0 (w - w / 2 ^ slack - 4 - Z.abs (hu - hv)).

Lemma lower_sym slack hu hv w : lower slack hu hv w = lower slack hv hu w.
Proof. unfold lower. f_equal. lia. Qed.

Lemma lower_le slack hu hv w : (0 <= w)%Z -> (0 <= lower slack hu hv w <= w)%Z.
Proof.
  intros H. unfold lower. assert (0 <= w / 2 ^ slack)%Z; [| lia].
  destruct (Z.le_gt_cases 0 slack).
  - apply Z.div_pos; [exact H | now apply Z.pow_pos_nonneg].
  - rewrite Z.pow_neg_r, Zdiv_0_r by assumption. lia.
Qed.

Lemma lower_zero slack hu hv : lower slack hu hv 0 = 0%Z.
Proof. unfold lower. rewrite Zdiv_0_l. lia. Qed.

(** *** Three evaluations are enough: rho -> (Nx + min(e rho, hx)) - m (Ny + rho) is linear on both sides of hx / e *)
Theorem three_points Nx Ny Rx Ry e m hx lo hi :
  0 < e -> Rx <= e * Ry -> Rx <= hx -> lo <= Ry <= hi ->
  (forall rho, rho = lo \/ rho = hi \/ (rho = hx / e /\ lo <= rho <= hi) ->
     Nx + Rmin (e * rho) hx <= m * (Ny + rho)) ->
  Nx + Rx <= m * (Ny + Ry).
Proof.
  intros e0 A B [L H] Q.
  assert (Rx <= Rmin (e * Ry) hx) by now apply Rmin_glb.
  apply Rle_trans with (Nx + Rmin (e * Ry) hx); [lra |]. clear Rx A B H0.
  pose proof (Q lo ltac:(auto)) as Qlo. pose proof (Q hi ltac:(auto)) as Qhi.
  assert (kink : lo <= hx / e <= hi -> Nx + hx <= m * (Ny + hx / e)).
  { intros B. specialize (Q (hx / e) ltac:(auto)). replace (e * (hx / e)) with hx in Q by (field; lra).
    rewrite Rmin_left in Q by lra. exact Q. }
  assert (K : e * (hx / e) = hx) by (field; lra). set (k := hx / e) in *. clearbody k. subst hx.
  assert (mono : forall a b, a <= b -> e * a <= e * b) by (intros; apply Rmult_le_compat_l; lra).
  (* a linear function below 0 at both ends of an interval is below 0 in it *)
  assert (line : forall a b c s, a <= Ry <= b -> c + s * a <= 0 -> c + s * b <= 0 -> c + s * Ry <= 0).
  { intros a b c s J P1 P2. destruct (Rle_or_lt 0 s); nra. }
  destruct (Rle_or_lt Ry k) as [y | y].
  - rewrite Rmin_left by auto. rewrite Rmin_left in Qlo by (apply mono; lra).
    assert (Nx - m * Ny + (e - m) * Ry <= 0); [| lra].
    destruct (Rle_or_lt k hi) as [kh | kh].
    + pose proof (kink ltac:(lra)). apply (line lo k); try lra.
    + rewrite Rmin_left in Qhi by (apply mono; lra). apply (line lo hi); lra.
  - rewrite Rmin_right by (apply mono; lra). rewrite Rmin_right in Qhi by (apply mono; lra).
    assert (Nx + e * k - m * Ny + (- m) * Ry <= 0); [| lra].
    destruct (Rle_or_lt lo k) as [kl | kl].
    + pose proof (kink ltac:(lra)). apply (line k hi); lra.
    + rewrite Rmin_right in Qlo by (apply mono; lra). apply (line lo hi); lra.
Qed.

Section Relief.

Variable V : Type.
Variable eq_dec : forall u v : V, {u = v} + {u <> v}.
Variable places : list V.
Variable mu : V -> R.
Hypothesis mu_nonneg : forall z, 0 <= mu z.

Variable E : list (V * V * Z).
Hypothesis E_whole : whole E.
Variable slack : Z.
Variable height : V -> Z.

Definition low (u v : V) (w : Z) : Z := lower slack (height u) (height v) w.
Definition lowered : list (V * V * Z) := map (fun e => let '(u, v, w) := e in (u, v, low u v w)) E.

Lemma lowered_whole : whole lowered.
Proof.
  intros u v w H. apply in_map_iff in H as [[[a b] c] [[= -> -> <-] I]].
  apply lower_le. exact (E_whole _ _ _ I).
Qed.

Lemma lowered_arc u v w : arc E u v w -> arc lowered u v (low u v w).
Proof.
  intros [A | A]; [left | right]; apply in_map_iff.
  - exists (u, v, w); auto.
  - exists (v, u, w); split; auto. unfold low. now rewrite lower_sym.
Qed.

Lemma lowered_closed fence : closed V fence E -> closed V fence lowered.
Proof. intros C u v w H. apply in_map_iff in H as [[[a b] c] [[= -> -> <-] I]]. exact (C _ _ _ I). Qed.

(** ** From edges to pairs, for any S *)

(** w'(e) + |ln S(u) - ln S(v)| <= w(e) on every edge implies d' + |ln S(x) - ln S(x')| <= d for all pairs. *)
Theorem edges_to_pairs (S : V -> R) :
  (forall u v w, In (u, v, w) E -> level (low u v w) + Rabs (ln (S u) - ln (S v)) <= level w) ->
  forall x x' D, dist eq_dec E x x' = Some D ->
  exists D', dist eq_dec lowered x x' = Some D' /\ level D' + Rabs (ln (S x) - ln (S x')) <= level D.
Proof.
  intros H x x' D d. apply dist_walk in d.
  assert (G : exists L, walk lowered x x' L /\ level L + Rabs (ln (S x) - ln (S x')) <= level D).
  { induction d as [x | x y z w L A W [M [WM B]]].
    - exists 0%Z. split; [constructor |]. rewrite Rminus_diag_eq, Rabs_R0 by reflexivity. unfold level. lra.
    - exists (low x y w + M)%Z. split; [econstructor; eauto; now apply lowered_arc |].
      assert (level (low x y w) + Rabs (ln (S x) - ln (S y)) <= level w).
      { destruct A as [A | A]; [now apply H |]. apply H in A.
        rewrite Rabs_minus_sym. unfold low in *. now rewrite lower_sym. }
      pose proof (Rabs_triang (ln (S x) - ln (S y)) (ln (S y) - ln (S z))) as T.
      replace (ln (S x) - ln (S y) + (ln (S y) - ln (S z))) with (ln (S x) - ln (S z)) in T by ring.
      rewrite !level_plus. lra. }
  destruct G as [L [W B]]. destruct (dist_least _ eq_dec _ lowered_whole _ _ _ W) as [D' [d' l]].
  exists D'. split; auto. apply level_le in l. lra.
Qed.

(** ** The sharpened mechanism *)

Notation T := (total V eq_dec places mu w_one lowered).
Notation K := (mechanism V eq_dec places mu w_one lowered).
Notation num := (numerator V eq_dec mu w_one lowered).

Lemma s1_nonneg : 0 <= level 1.
Proof. unfold level; lra. Qed.

Lemma num_nonneg x z : 0 <= num x z.
Proof. apply (numerator_nonneg V eq_dec mu mu_nonneg w_one (level 1) w_one_lipschitz _ lowered_whole). Qed.

Lemma T_nonneg x : 0 <= T x.
Proof. apply sum_nonneg. intros; apply num_nonneg. Qed.

(** The inequality of one edge without logarithms, so that S may be 0: e^w' S(v) <= e^w S(u), both ways. *)
Definition edge_holds (u v : V) (w : Z) : Prop :=
  exp (level (low u v w)) * T v <= exp (level w) * T u /\ exp (level (low u v w)) * T u <= exp (level w) * T v.

Lemma edge_holds_ln u v w : 0 < T u -> 0 < T v ->
  level (low u v w) + Rabs (ln (T u) - ln (T v)) <= level w <-> edge_holds u v w.
Proof.
  intros U W. unfold edge_holds.
  assert (X : forall a b s t, 0 < s -> 0 < t -> (exp a * s <= exp b * t <-> a + ln s <= b + ln t)).
  { intros a b s t s0 t0.
    rewrite <- (exp_ln s s0) at 1. rewrite <- (exp_ln t t0) at 1. rewrite <- !exp_plus.
    split; intros Q.
    - apply Rnot_lt_le. intros N. apply exp_increasing in N. lra.
    - now apply exp_le. }
  rewrite !X by assumption.
  split.
  - intros Q. assert (Rabs (ln (T u) - ln (T v)) <= level w - level (low u v w)) as B by lra.
    apply Rabs_le in B || idtac.
    pose proof (Rle_abs (ln (T u) - ln (T v))). pose proof (Rle_abs (- (ln (T u) - ln (T v)))) as N. rewrite Rabs_Ropp in N. lra.
  - intros [P Q]. assert (Rabs (ln (T u) - ln (T v)) <= level w - level (low u v w)); [apply Rabs_le; lra | lra].
Qed.

(** Ends of an edge of length 0 have the same S: nothing need be checked there. *)
Lemma zero_edge u v : In (u, v, 0%Z) E -> T u = T v.
Proof.
  intros I. assert (A : arc lowered u v 0).
  { replace 0%Z with (low u v 0); [apply lowered_arc; now left |].
    apply lower_zero. }
  destruct (dist_least _ eq_dec _ lowered_whole _ _ _ (walk_arc _ _ _ _ _ A)) as [D [d l]].
  pose proof (dist_nonneg _ eq_dec _ lowered_whole _ _ _ d). replace D with 0%Z in d by lia.
  assert (B : forall a b, dist eq_dec lowered a b = Some 0%Z -> T a <= T b).
  { intros a b ab. apply sum_le. intros z _.
    pose proof (numerator_near V eq_dec mu mu_nonneg w_one (level 1) w_one_lipschitz s1_nonneg _ lowered_whole _ _ _ z ab) as Q.
    rewrite Rmult_0_l, exp_0, Rmult_1_l in Q. exact Q. }
  apply Rle_antisym; apply B; auto. rewrite dist_sym; auto using lowered_whole.
Qed.

(** One step along an edge costs its weight, for every report. *)
Lemma num_step x y w z : arc E x y w -> num x z <= exp (level (low x y w)) * num y z.
Proof.
  intros A. apply lowered_arc in A.
  destruct (dist_least _ eq_dec _ lowered_whole _ _ _ (walk_arc _ _ _ _ _ A)) as [D [d l]].
  apply Rle_trans with (exp (level D) * num y z).
  - rewrite <- level_units. apply (numerator_near V eq_dec mu mu_nonneg _ _ w_one_lipschitz s1_nonneg _ lowered_whole _ _ _ _ d).
  - apply Rmult_le_compat_r; [apply num_nonneg |]. apply exp_le. now apply level_le.
Qed.

Section Certified.

Variable fence : V -> Z.
Hypothesis fences_closed : closed V fence E.

(** The inequality on every edge of some length outside fences. *)
Hypothesis certified : forall u v w, In (u, v, w) E -> fence u = 0%Z -> (0 < w)%Z -> edge_holds u v w.

Lemma certified_arc u v w : arc E u v w -> fence u = 0%Z ->
  exp (level (low u v w)) * T v <= exp (level w) * T u.
Proof.
  intros A F.
  assert (G : forall a b, In (a, b, w) E -> fence a = 0%Z -> edge_holds a b w).
  { intros a b I Fa. pose proof (E_whole _ _ _ I). destruct (Z.eq_dec w 0) as [-> | n]; [| apply certified; auto; lia].
    pose proof (zero_edge _ _ I) as e. unfold edge_holds. rewrite e.
    assert (low a b 0 = 0%Z) as -> by apply lower_zero.
    lra. }
  destruct A as [A | A].
  - now apply G.
  - assert (fence v = 0%Z) by (rewrite (fences_closed _ _ _ A); exact F).
    unfold low. rewrite lower_sym. now apply G.
Qed.

(** *** The sharpened mechanism is private for the metric itself *)
Theorem relief_private : forall x x' D z, fence x = 0%Z -> dist eq_dec E x x' = Some D -> In z places ->
  K x z <= exp (level D) * K x' z.
Proof.
  intros x x' D z F d I. apply dist_walk in d.
  induction d as [x | x y x' w L A W IH].
  - replace (exp (level 0)) with 1; [lra |]. unfold level, Rdiv. rewrite Rmult_0_l, exp_0. reflexivity.
  - assert (Fy : fence y = 0%Z).
    { destruct A as [A | A]; [rewrite <- (fences_closed _ _ _ A) | rewrite (fences_closed _ _ _ A)]; exact F. }
    apply Rle_trans with (exp (level w) * K y z).
    + pose proof (num_step _ _ _ z A) as NS. pose proof (certified_arc _ _ _ A F) as C.
      set (c := exp (level (low x y w))) in *. assert (c0 : 0 < c) by apply exp_pos.
      replace (exp (level w)) with (c * (exp (level w) / c)) by (field; lra).
      assert (k0 : 0 < exp (level w) / c) by (apply Rdiv_lt_0_compat; [apply exp_pos | exact c0]).
      assert (C' : T y <= exp (level w) / c * T x).
      { apply (Rmult_le_reg_l c); [exact c0 |].
        replace (c * (exp (level w) / c * T x)) with (exp (level w) * T x) by (field; lra). exact C. }
      apply share_ratio; auto using num_nonneg.
      * lra.
      * lra.
      * intros e. fold (T x) in e. fold (T y). pose proof (T_nonneg y). rewrite e, Rmult_0_r in C'. lra.
    + rewrite level_plus, exp_plus, Rmult_assoc. apply Rmult_le_compat_l; [left; apply exp_pos | now apply IH].
Qed.

Theorem relief_fenced_private area : (forall z, 0 <= area z) ->
  private V places (dist eq_dec E) (fenced V places fence area K).
Proof. intros A. apply fenced_private; auto. exact relief_private. Qed.

End Certified.

(** ** The bounded form: S = N + R, where N needs a search to D only *)

Section Bounded.

Variable D : Z.
Hypothesis D_nonneg : (0 <= D)%Z.

Notation d := (dist eq_dec lowered).

Definition near_part (x z : V) : R :=
  match d x z with Some a => mu z * (w_one (Z.min a D) - w_one D) | None => 0 end.
Definition far_part (x z : V) : R := match d x z with Some a => mu z * w_one (Z.max a D) | None => 0 end.
Definition N (x : V) : R := sum (near_part x) places.
Definition R_ (x : V) : R := sum (far_part x) places.

Lemma split_total x : T x = N x + R_ x.
Proof.
  unfold N, R_. rewrite <- sum_plus. apply sum_ext. intros z _.
  unfold numerator, near_part, far_part. destruct (d x z) as [a |]; simpl; [| lra].
  destruct (Z_le_gt_dec a D).
  - rewrite Z.min_l, Z.max_r by lia. ring.
  - rewrite Z.min_r, Z.max_l by lia. ring.
Qed.

(** Along an edge the far part changes by at most e^w': |max(a, D) - max(b, D)| <= |a - b|. *)
Theorem far_step x y w : arc E x y w -> R_ x <= exp (level (low x y w)) * R_ y.
Proof.
  intros A. apply lowered_arc in A. set (w' := low x y w) in *.
  pose proof (arc_whole _ _ lowered_whole _ _ _ A) as w0.
  destruct (dist_least _ eq_dec _ lowered_whole _ _ _ (walk_arc _ _ _ _ _ A)) as [c [dc lc]].
  pose proof dc as dc'. rewrite dist_sym in dc' by apply lowered_whole.
  unfold R_. rewrite <- sum_scale. apply sum_le. intros z _. unfold far_part.
  destruct (d x z) as [a |] eqn:Ha, (d y z) as [b |] eqn:Hb.
  - destruct (dist_triangle _ eq_dec _ lowered_whole _ _ _ _ _ dc Hb) as [a' [A' La]].
    destruct (dist_triangle _ eq_dec _ lowered_whole _ _ _ _ _ dc' Ha) as [b' [B' Lb]].
    rewrite Ha in A'; rewrite Hb in B'. injection A' as <-. injection B' as <-.
    replace (exp (level w') * (mu z * w_one (Z.max b D))) with (mu z * (exp (level w') * w_one (Z.max b D))) by ring.
    apply Rmult_le_compat_l; [apply mu_nonneg |]. rewrite <- level_units.
    apply lipschitz_far; auto using w_one_lipschitz, s1_nonneg; lia.
  - destruct (dist_triangle _ eq_dec _ lowered_whole _ _ _ _ _ dc' Ha) as [b' [B' _]]. congruence.
  - destruct (dist_triangle _ eq_dec _ lowered_whole _ _ _ _ _ dc Hb) as [a' [A' _]]. congruence.
  - lra.
Qed.

(** Any lower bound r of max(d', D) bounds the far part from above: a group's distance, or D alone. *)
Theorem far_upper x (r : V -> Z) :
  (forall z a, In z places -> d x z = Some a -> (0 <= r z <= Z.max a D)%Z) -> (forall z, 0 <= w_one (r z)) ->
  R_ x <= sum (fun z => mu z * w_one (r z)) places.
Proof.
  intros H P. apply sum_le. intros z I. unfold far_part. destruct (d x z) as [a |] eqn:Ha.
  - apply Rmult_le_compat_l; [apply mu_nonneg |].
    apply (lipschitz_decreasing _ _ w_one_lipschitz). now apply H.
  - apply Rmult_le_pos; [apply mu_nonneg | apply P].
Qed.

(** What lies within D counts w(D) in the far part. *)
Theorem far_lower x (inside : V -> bool) :
  (forall z, inside z = true -> exists a, d x z = Some a /\ (a <= D)%Z) ->
  w_one D * sum (fun z => if inside z then mu z else 0) places <= R_ x.
Proof.
  intros H. rewrite <- sum_scale. apply sum_le. intros z _. unfold far_part.
  destruct (inside z) eqn:I.
  - destruct (H z I) as [a [-> L]]. rewrite Z.max_r by lia. lra.
  - rewrite Rmult_0_r. destruct (d x z) as [a |]; [| lra].
    apply Rmult_le_pos; [apply mu_nonneg |]. left. apply w_one_lipschitz. lia.
Qed.

(** *** The bounded form implies the inequality: any bounds of the far parts, and three evaluations in each direction *)
Theorem bounded_edge u v w (lo hi : V -> R) (e := exp (level (low u v w))) (more := exp (level (w - low u v w))) :
  In (u, v, w) E -> (forall x, x = u \/ x = v -> lo x <= R_ x <= hi x) ->
  (forall x y, x = u /\ y = v \/ x = v /\ y = u ->
     forall rho, rho = lo y \/ rho = hi y \/ (rho = hi x / e /\ lo y <= rho <= hi y) ->
     N x + Rmin (e * rho) (hi x) <= more * (N y + rho)) ->
  edge_holds u v w.
Proof.
  intros I B Q. pose proof (exp_pos (level (low u v w))) as e0. fold e in e0.
  assert (F1 : R_ u <= e * R_ v) by (apply far_step; now left).
  assert (F2 : R_ v <= e * R_ u).
  { assert (A : arc E v u w) by now right. apply far_step in A. unfold e, low. rewrite lower_sym. exact A. }
  assert (one : forall x y, x = u /\ y = v \/ x = v /\ y = u -> R_ x <= e * R_ y -> T x <= more * T y).
  { intros x y P F. rewrite !split_total. assert (x = u \/ x = v) as X by tauto. assert (y = u \/ y = v) as Y by tauto.
    apply (three_points _ _ _ _ e more (hi x) (lo y) (hi y)); auto; apply B; auto. }
  assert (P : exp (level w) = e * more).
  { unfold e, more. rewrite <- exp_plus, <- level_plus. do 2 f_equal. lia. }
  unfold edge_holds. fold e. rewrite P, !Rmult_assoc. split; apply Rmult_le_compat_l; try lra; apply one; auto.
Qed.

End Bounded.

End Relief.
