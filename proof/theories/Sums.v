(* SPDX-License-Identifier: Apache-2.0 *)
(** Finite sums of real numbers over lists, and the one lemma that both the exponential mechanism and traces rest on. *)

From Coq Require Import Reals List Lra Lia ZArith.
Import ListNotations.
Local Open Scope R_scope.

Section Sums.

Variable A : Type.
Implicit Types (f g : A -> R) (l : list A).

Fixpoint sum f l : R := match l with [] => 0 | a :: l' => f a + sum f l' end.

Lemma sum_le f g l : (forall a, In a l -> f a <= g a) -> sum f l <= sum g l.
Proof.
  induction l as [| a l IH]; simpl; intros H; [lra |].
  pose proof (H a (or_introl eq_refl)). assert (sum f l <= sum g l) by (apply IH; auto). lra.
Qed.

Lemma sum_ext f g l : (forall a, In a l -> f a = g a) -> sum f l = sum g l.
Proof. intros H; apply Rle_antisym; apply sum_le; intros a I; rewrite (H a I); lra. Qed.

Lemma sum_scale c f l : sum (fun a => c * f a) l = c * sum f l.
Proof. induction l as [| a l IH]; simpl; [ring | rewrite IH; ring]. Qed.

Lemma sum_plus f g l : sum (fun a => f a + g a) l = sum f l + sum g l.
Proof. induction l as [| a l IH]; simpl; [ring | rewrite IH; ring]. Qed.

Lemma sum_nonneg f l : (forall a, In a l -> 0 <= f a) -> 0 <= sum f l.
Proof.
  induction l as [| a l IH]; simpl; intros H; [lra |].
  pose proof (H a (or_introl eq_refl)). assert (0 <= sum f l) by (apply IH; auto). lra.
Qed.

Lemma sum_member f l a : (forall b, In b l -> 0 <= f b) -> In a l -> f a <= sum f l.
Proof.
  induction l as [| b l IH]; simpl; intros H []; subst.
  - assert (0 <= sum f l) by (apply sum_nonneg; auto). lra.
  - pose proof (H b (or_introl eq_refl)). assert (f a <= sum f l) by (apply IH; auto). lra.
Qed.

Lemma sum_app f l m : sum f (l ++ m) = sum f l + sum f m.
Proof. induction l as [| a l IH]; simpl; [ring | rewrite IH; ring]. Qed.

(** ** Normalised weights *)

(** What is reported with weight [f], out of [l]. *)
Definition share f l (z : A) : R := f z / sum f l.

Lemma share_nonneg f l z : (forall a, 0 <= f a) -> 0 <= share f l z.
Proof.
  intros H. unfold share. destruct (Req_dec (sum f l) 0) as [e | n].
  - destruct (Req_dec (f z) 0) as [-> | N]; [unfold Rdiv; rewrite Rmult_0_l; lra |].
    unfold Rdiv. rewrite e, Rinv_0. lra.
  - apply Rle_mult_inv_pos; [apply H |]. pose proof (sum_nonneg f l (fun a _ => H a)). lra.
Qed.

Lemma share_total f l : sum f l <> 0 -> sum (share f l) l = 1.
Proof.
  intros H. unfold share. rewrite (sum_ext _ (fun a => / sum f l * f a)) by (intros; field; auto).
  rewrite sum_scale. field. exact H.
Qed.

(** If numerators change by at most a factor [c] and normalisers by at most a factor [k], shares change by at most
    [c k]. *)
Lemma share_ratio f g l c k z :
  (forall a, In a l -> 0 <= f a) -> (forall a, In a l -> 0 <= g a) -> In z l -> 0 <= c -> 0 <= k ->
  f z <= c * g z -> sum g l <= k * sum f l -> (sum f l = 0 -> sum g l = 0) ->
  share f l z <= c * k * share g l z.
Proof.
  intros Hf Hg I c0 k0 H S Z. unfold share.
  pose proof (sum_nonneg f l Hf) as F0. pose proof (sum_nonneg g l Hg) as G0.
  pose proof (Hf z I) as fz. pose proof (Hg z I) as gz.
  pose proof (sum_member f l z Hf I) as fs. pose proof (sum_member g l z Hg I) as gs.
  destruct (Req_dec (sum f l) 0) as [e | ne].
  - pose proof (Z e) as e'. assert (f z = 0) as -> by lra. assert (g z = 0) as -> by lra.
    unfold Rdiv. rewrite !Rmult_0_l, Rmult_0_r. lra.
  - assert (Fp : 0 < sum f l) by lra.
    destruct (Req_dec (sum g l) 0) as [e | ne'].
    + assert (g z = 0) as G by lra. rewrite G in H. assert (f z = 0) as -> by lra. rewrite G.
      unfold Rdiv. rewrite !Rmult_0_l, Rmult_0_r. lra.
    + assert (Gp : 0 < sum g l) by lra.
      apply (Rmult_le_reg_r (sum f l)); [exact Fp |].
      replace (f z / sum f l * sum f l) with (f z) by (field; lra).
      apply (Rmult_le_reg_r (sum g l)); [exact Gp |].
      replace (c * k * (g z / sum g l) * sum f l * sum g l) with (c * g z * (k * sum f l)) by (field; lra).
      apply Rmult_le_compat; lra.
Qed.

(** The exponential mechanism in one line: weights within a factor [c] both ways give shares within [c^2]. *)
Theorem share_private f g l c z :
  (forall a, In a l -> 0 <= f a) -> (forall a, In a l -> 0 <= g a) -> In z l -> 0 <= c ->
  (forall a, In a l -> f a <= c * g a) -> (forall a, In a l -> g a <= c * f a) ->
  share f l z <= c * c * share g l z.
Proof.
  intros Hf Hg I c0 H1 H2.
  assert (S : sum g l <= c * sum f l) by (rewrite <- sum_scale; apply sum_le; auto).
  apply share_ratio; auto.
  intros e. rewrite e in S. pose proof (sum_nonneg g l Hg). lra.
Qed.

End Sums.

Arguments sum {A}.
Arguments share {A}.
Arguments share_nonneg {A}.
Arguments share_total {A}.
Arguments share_private {A}.
Arguments share_ratio {A}.
