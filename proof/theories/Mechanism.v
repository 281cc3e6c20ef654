(* SPDX-License-Identifier: Apache-2.0 *)
(** The exponential mechanism with exponent 1/2, any measure; fences; the frame.

    Code: [mechanism/elastic.py] ([probabilities], [_draw]), [metric/verify.py] ([_fence_faults]). *)

From Coq Require Import Reals ZArith List Lra Lia Bool.
From Geoelastic Require Import Graph Sums Weights.
Import ListNotations.
Local Open Scope R_scope.

Section Mechanism.

Variable V : Type.
Variable eq_dec : forall u v : V, {u = v} + {u <> v}.

(** All that can be reported, and the output measure: any numbers >= 0, the same for every secret. *)
Variable places : list V.
Variable mu : V -> R.
Hypothesis mu_nonneg : forall z, 0 <= mu z.

Notation edges := (list (V * V * Z)).

(** What is unreachable has weight 0. *)
Definition weigh (w : Z -> R) (d : option Z) : R := match d with Some D => w D | None => 0 end.

(** K(x)(z) = mu(z) w(d(x,z)) / S(x), with full support: the sum is over all places. *)
Definition numerator (w : Z -> R) (E : edges) (x z : V) : R := mu z * weigh w (dist eq_dec E x z).
Definition total (w : Z -> R) (E : edges) (x : V) : R := sum (numerator w E x) places.
Definition mechanism (w : Z -> R) (E : edges) (x z : V) : R := share (numerator w E x) places z.

(** ln K(x)(z) / K(x')(z) <= d(x, x') wherever the distance is finite. *)
Definition private (d : V -> V -> option Z) (K : V -> V -> R) : Prop :=
  forall x x' D z, d x x' = Some D -> In z places -> K x z <= exp (level D) * K x' z.

Lemma level_plus D D' : level (D + D') = level D + level D'.
Proof. unfold level. rewrite plus_IZR. field. Qed.

Lemma level_units D : IZR D * level 1 = level D.
Proof. unfold level. field. Qed.

Lemma level_le D D' : (D <= D')%Z -> level D <= level D'.
Proof. intros H. unfold level. apply IZR_le in H. lra. Qed.

Lemma exp_le a b : a <= b -> exp a <= exp b.
Proof. intros [H | ->]; [left; now apply exp_increasing | lra]. Qed.

Section Weighted.

Variables (w : Z -> R) (s : R).
Hypothesis w_lipschitz : lipschitz w s.
Hypothesis s_nonneg : 0 <= s.
Variable E : edges.
Hypothesis E_whole : whole E.

Lemma weigh_nonneg x z : 0 <= weigh w (dist eq_dec E x z).
Proof.
  destruct (dist eq_dec E x z) as [D |] eqn:H; simpl; [| lra].
  left. apply w_lipschitz. eapply dist_nonneg; eauto.
Qed.

Lemma numerator_nonneg x z : 0 <= numerator w E x z.
Proof. apply Rmult_le_pos; [apply mu_nonneg | apply weigh_nonneg]. Qed.

(** The triangle inequality: distances to z differ by at most d(x, x'). *)
Lemma weigh_near x x' D z : dist eq_dec E x x' = Some D ->
  weigh w (dist eq_dec E x z) <= exp (IZR D * s) * weigh w (dist eq_dec E x' z).
Proof.
  intros H. pose proof H as H'. rewrite dist_sym in H' by assumption.
  destruct (dist eq_dec E x z) as [a |] eqn:A, (dist eq_dec E x' z) as [b |] eqn:B; simpl.
  - destruct (dist_triangle _ eq_dec _ E_whole _ _ _ _ _ H B) as [a' [A' La]].
    destruct (dist_triangle _ eq_dec _ E_whole _ _ _ _ _ H' A) as [b' [B' Lb]].
    rewrite A in A'; rewrite B in B'. injection A' as <-. injection B' as <-.
    apply lipschitz_far; auto; [eapply dist_nonneg; eauto | eapply dist_nonneg; eauto | lia].
  - destruct (dist_triangle _ eq_dec _ E_whole _ _ _ _ _ H' A) as [b' [B' _]]. congruence.
  - rewrite <- (Rmult_0_r (exp (IZR D * s))). apply Rmult_le_compat_l; [left; apply exp_pos |].
    left. apply w_lipschitz. eapply dist_nonneg; eauto.
  - lra.
Qed.

Lemma numerator_near x x' D z : dist eq_dec E x x' = Some D ->
  numerator w E x z <= exp (IZR D * s) * numerator w E x' z.
Proof.
  intros H. unfold numerator. rewrite <- Rmult_assoc, (Rmult_comm _ (mu z)), Rmult_assoc.
  apply Rmult_le_compat_l; [apply mu_nonneg | now apply weigh_near].
Qed.

(** Exponent s a unit costs 2 s a unit. *)
Theorem mechanism_private_general x x' D z : dist eq_dec E x x' = Some D -> In z places ->
  mechanism w E x z <= exp (IZR D * (2 * s)) * mechanism w E x' z.
Proof.
  intros H I. replace (IZR D * (2 * s)) with (IZR D * s + IZR D * s) by ring. rewrite exp_plus.
  apply share_private; auto using numerator_nonneg.
  - left; apply exp_pos.
  - intros a _. now apply numerator_near.
  - intros a _. apply numerator_near. now rewrite dist_sym.
Qed.

(** Probabilities: they add up to 1 wherever anything can be reported at all. *)
Theorem mechanism_total x : total w E x <> 0 -> sum (mechanism w E x) places = 1.
Proof. apply share_total. Qed.

End Weighted.

(** *** Exponent 1/2 is private for every graph and every measure *)
Theorem half_private E : whole E -> private (dist eq_dec E) (mechanism w_half E).
Proof.
  intros P x x' D z H I. rewrite <- level_units.
  replace (level 1) with (2 * (level 1 / 2)) by field.
  apply mechanism_private_general; auto using w_half_lipschitz. unfold level; lra.
Qed.

(** ** Fences *)

Section Fences.

(** 0 outside, k inside fence k; [area]: cells of a place. *)
Variable fence : V -> Z.
Variable area : V -> R.
Hypothesis area_nonneg : forall z, 0 <= area z.
Variable E : edges.

Definition closed : Prop := forall u v w, In (u, v, w) E -> fence u = fence v.
Definition tied : Prop := forall u v, fence u = fence v -> (0 < fence u)%Z -> walk E u v 0.

(** Inside, reports are even over the fence; outside, by [K]. *)
Definition fenced (K : V -> V -> R) (x z : V) : R :=
  if (fence x =? 0)%Z then K x z
  else share (fun z => if (fence z =? fence x)%Z then area z else 0) places z.

Lemma walk_fence x z L : closed -> walk E x z L -> fence x = fence z.
Proof.
  intros C; induction 1 as [| x y z w L A W IH]; auto.
  rewrite <- IH. destruct A as [A | A]; [exact (C _ _ _ A) | symmetry; exact (C _ _ _ A)].
Qed.

Theorem fence_across x x' : closed -> fence x <> fence x' -> dist eq_dec E x x' = None.
Proof.
  intros C N. destruct (dist eq_dec E x x') as [D |] eqn:H; auto.
  apply dist_walk in H. apply (walk_fence _ _ _ C) in H. congruence.
Qed.

Theorem fence_inside x x' : whole E -> tied -> fence x = fence x' -> (0 < fence x)%Z -> dist eq_dec E x x' = Some 0%Z.
Proof.
  intros P T S I. destruct (dist_least _ eq_dec E P _ _ _ (T _ _ S I)) as [D [H L]].
  rewrite H. f_equal. pose proof (dist_nonneg _ eq_dec E P _ _ _ H). lia.
Qed.

(** A mechanism that is private outside is private with its fences: inside, all reports are alike. *)
Theorem fenced_private K : whole E -> closed ->
  (forall x x' D z, fence x = 0%Z -> dist eq_dec E x x' = Some D -> In z places -> K x z <= exp (level D) * K x' z) ->
  private (dist eq_dec E) (fenced K).
Proof.
  intros P C H x x' D z d I. unfold fenced.
  assert (S : fence x = fence x').
  { destruct (Z.eq_dec (fence x) (fence x')) as [e | n]; auto. rewrite (fence_across _ _ C n) in d. discriminate. }
  rewrite <- S. destruct (Z.eqb_spec (fence x) 0) as [e | n]; [now apply H |].
  set (q := share _ _ _).
  assert (q0 : 0 <= q).
  { apply share_nonneg. intros a. destruct (fence a =? fence x)%Z; [apply area_nonneg | lra]. }
  assert (1 <= exp (level D)).
  { rewrite <- exp_0. apply exp_le. pose proof (dist_nonneg _ eq_dec E P _ _ _ d) as D0.
    apply level_le in D0. unfold level in *. lra. }
  rewrite <- (Rmult_1_l q) at 1. now apply Rmult_le_compat_r.
Qed.

Theorem half_fenced_private : whole E -> closed -> private (dist eq_dec E) (fenced (mechanism w_half E)).
Proof. intros P C. apply fenced_private; auto. intros. now apply half_private. Qed.

End Fences.

(** ** The frame: may be reported, may not be a secret *)

Definition private_for (secret : V -> Prop) (d : V -> V -> option Z) (K : V -> V -> R) : Prop :=
  forall x x' D z, secret x -> secret x' -> d x x' = Some D -> In z places -> K x z <= exp (level D) * K x' z.

(** Reports from the frame are refused; what is left keeps its promise, with the frame among the reports. *)
Theorem frame_private secret d K : private d K -> private_for secret d K.
Proof. intros H x x' D z _ _. apply H. Qed.

End Mechanism.
