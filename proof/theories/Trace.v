(* SPDX-License-Identifier: Apache-2.0 *)
(** Traces: one exponential mechanism over whole sequences of places.

    K(Z | x) = A(Z) prod_t w_t(d(x_t, Z_t)) / S(x), where A(Z) = psi(Z_0, Z_1) psi(Z_1, Z_2) ... does not depend on x.
    Z_0 is what was released just before, if the piece goes on from there (`Passes` in traces/passes.py). *)

From Coq Require Import Reals ZArith List Lra Lia Bool.
From Geoelastic Require Import Graph Sums Weights Mechanism.
Import ListNotations.
Local Open Scope R_scope.

Section Trace.

Variable V : Type.
Variable eq_dec : forall u v : V, {u = v} + {u <> v}.
Variable places : list V.
Variable E : list (V * V * Z).
Hypothesis E_whole : whole E.

(** ** What does not depend on the secret *)

(** The program's own doubles, whatever they were rounded to: [keep] for 1 - p, [jump] for p m, where m may depend on
    all that was released before. *)
Variable keep : R.
Hypothesis keep_nonneg : 0 <= keep.
Variable jump : V -> R.
Hypothesis jump_nonneg : forall z, 0 <= jump z.

Definition psi (before : option V) (z : V) : R :=
  match before with Some z0 => if eq_dec z0 z then keep else 0 | None => 0 end + jump z.

Fixpoint habit (before : option V) (Z : list V) : R :=
  match Z with [] => 1 | z :: Z' => psi before z * habit (Some z) Z' end.

Lemma psi_nonneg before z : 0 <= psi before z.
Proof.
  unfold psi. pose proof (jump_nonneg z). destruct before as [z0 |]; [destruct (eq_dec z0 z) |]; lra.
Qed.

Lemma habit_nonneg before Z : 0 <= habit before Z.
Proof.
  revert before. induction Z as [| z Z IH]; intros before; simpl; [lra | apply Rmult_le_pos; auto using psi_nonneg].
Qed.

(** ** What does: a weight a step, each with its own exponent *)

Definition steps : Type := list ((Z -> R) * R).
Definition good (st : steps) : Prop := Forall (fun s => lipschitz (fst s) (snd s) /\ 0 <= snd s) st.

Fixpoint fit (st : steps) (x Z : list V) : R :=
  match st, x, Z with
  | (w, _) :: st', a :: x', z :: Z' => weigh w (dist eq_dec E a z) * fit st' x' Z'
  | _, _, _ => 1
  end.

(** sum_t s_t d(x_t, x'_t), where every distance is finite. *)
Inductive apart : steps -> list V -> list V -> R -> Prop :=
| apart_nil : apart [] [] [] 0
| apart_cons w s st a a' x x' D c : dist eq_dec E a a' = Some D -> apart st x x' c ->
    apart ((w, s) :: st) (a :: x) (a' :: x') (IZR D * s + c).

Lemma apart_sym st x x' c : apart st x x' c -> apart st x' x c.
Proof. induction 1; constructor; auto. now rewrite dist_sym. Qed.

Lemma fit_nonneg st : good st -> forall x Z, 0 <= fit st x Z.
Proof.
  induction st as [| [w s] st IH]; intros G x Z; simpl; [lra |].
  inversion G as [| ? ? [L s0] G']; subst; simpl in *.
  destruct x as [| a x], Z as [| z Z]; try lra.
  apply Rmult_le_pos; [apply (weigh_nonneg V eq_dec w s L E E_whole) | now apply IH].
Qed.

Lemma apart_nonneg st x x' c : good st -> apart st x x' c -> 0 <= c.
Proof.
  intros G; induction 1 as [| w s st a a' x x' D c d A IH]; [lra |].
  inversion G as [| ? ? [L s0] G']; subst; simpl in *.
  apply (dist_nonneg _ eq_dec E E_whole) in d. apply IZR_le in d.
  assert (0 <= IZR D * s) by now apply Rmult_le_pos. specialize (IH G'). lra.
Qed.

Lemma fit_near st x x' c : good st -> apart st x x' c -> forall Z, fit st x Z <= exp c * fit st x' Z.
Proof.
  intros G A. induction A as [| w s st a a' x x' D c d A IH]; intros Z.
  - simpl. rewrite exp_0. lra.
  - pose proof (apart_nonneg _ _ _ _ G (apart_cons w s _ _ _ _ _ _ _ d A)) as C0.
    inversion G as [| ? ? [L s0] G']; subst; simpl in *.
    destruct Z as [| z Z].
    + rewrite Rmult_1_r, <- exp_0. now apply exp_le.
    + rewrite exp_plus.
      replace (exp (IZR D * s) * exp c * (weigh w (dist eq_dec E a' z) * fit st x' Z))
        with ((exp (IZR D * s) * weigh w (dist eq_dec E a' z)) * (exp c * fit st x' Z)) by ring.
      apply Rmult_le_compat; auto using fit_nonneg.
      * apply (weigh_nonneg V eq_dec w s L E E_whole).
      * now apply weigh_near.
Qed.

(** All sequences of reports of a length. *)
Fixpoint sequences (n : nat) : list (list V) :=
  match n with O => [[]] | S n' => flat_map (fun z => map (cons z) (sequences n')) places end.

Definition trace_mechanism (before : option V) (st : steps) (x Z : list V) : R :=
  share (fun Z => habit before Z * fit st x Z) (sequences (length st)) Z.

(** What the program draws from: every numerator is off by a factor [err], which depends on the trace and the release
    (docs/traces.md, the lemma on rounding). *)
Definition rounded (before : option V) (err : list V -> list V -> R) (st : steps) (x Z : list V) : R :=
  share (fun Z => habit before Z * fit st x Z * err x Z) (sequences (length st)) Z.

(** *** P(Z | x) <= e^(sum_t 2 s_t d(x_t, x'_t) + 4 eta) P(Z | x') *)
Theorem rounded_private before err eta st x x' c Z :
  (forall y Y, exp (- eta) <= err y Y <= exp eta) -> good st -> apart st x x' c -> In Z (sequences (length st)) ->
  rounded before err st x Z <= exp (2 * c + 4 * eta) * rounded before err st x' Z.
Proof.
  intros B G A I. replace (2 * c + 4 * eta) with ((c + 2 * eta) + (c + 2 * eta)) by ring. rewrite exp_plus.
  assert (N : forall y Y, 0 <= habit before Y * fit st y Y)
    by (intros; apply Rmult_le_pos; auto using habit_nonneg, fit_nonneg).
  assert (H : forall y y' Y, apart st y y' c ->
    habit before Y * fit st y Y * err y Y <= exp (c + 2 * eta) * (habit before Y * fit st y' Y * err y' Y)).
  { intros y y' Y Q.
    assert (F : habit before Y * fit st y Y <= exp c * (habit before Y * fit st y' Y)).
    { rewrite <- Rmult_assoc, (Rmult_comm (exp c)), Rmult_assoc.
      apply Rmult_le_compat_l; [apply habit_nonneg | now apply (fit_near _ _ _ _ G Q)]. }
    pose proof (N y Y) as N1. pose proof (N y' Y) as N2. destruct (B y Y) as [B1 B2]. destruct (B y' Y) as [B3 B4].
    set (n1 := habit before Y * fit st y Y) in *. set (n2 := habit before Y * fit st y' Y) in *.
    pose proof (exp_pos (- eta)). pose proof (exp_pos eta). pose proof (exp_pos c).
    apply Rle_trans with (exp c * n2 * exp eta); [apply Rmult_le_compat; lra |].
    replace (exp (c + 2 * eta)) with (exp c * exp eta * exp eta) by (rewrite <- !exp_plus; f_equal; ring).
    replace (exp c * exp eta * exp eta * (n2 * err y' Y)) with (exp c * n2 * exp eta * (exp eta * err y' Y)) by ring.
    rewrite <- (Rmult_1_r (exp c * n2 * exp eta)) at 1. apply Rmult_le_compat_l.
    - apply Rmult_le_pos; [apply Rmult_le_pos; lra | lra].
    - replace 1 with (exp eta * exp (- eta)) by (rewrite <- exp_plus, Rplus_opp_r; apply exp_0).
      apply Rmult_le_compat_l; lra. }
  unfold rounded. apply share_private; auto.
  - intros Y _. apply Rmult_le_pos; [apply N | destruct (B x Y); pose proof (exp_pos (- eta)); lra].
  - intros Y _. apply Rmult_le_pos; [apply N | destruct (B x' Y); pose proof (exp_pos (- eta)); lra].
  - left; apply exp_pos.
  - intros Y _. apply H. now apply apart_sym.
Qed.

(** *** K(Z | x) <= e^(sum_t 2 s_t d(x_t, x'_t)) K(Z | x') *)
Theorem trace_private before st x x' c Z : good st -> apart st x x' c -> In Z (sequences (length st)) ->
  trace_mechanism before st x Z <= exp (2 * c) * trace_mechanism before st x' Z.
Proof.
  intros G A I.
  assert (Q : forall y, trace_mechanism before st y Z = rounded before (fun _ _ => 1) st y Z).
  { intros y. unfold trace_mechanism, rounded, share. rewrite Rmult_1_r. f_equal. apply sum_ext. intros Y _. ring. }
  rewrite !Q. replace (2 * c) with (2 * c + 4 * 0) by ring. apply rounded_private; auto.
  intros y Y. rewrite Ropp_0, exp_0. lra.
Qed.

(** Traces at distance 0 in every step have the same distances to every place: the program does the same with both. *)
Theorem same_distances a a' z : dist eq_dec E a a' = Some 0%Z -> dist eq_dec E a z = dist eq_dec E a' z.
Proof.
  intros H. pose proof H as H'. rewrite dist_sym in H' by exact E_whole.
  destruct (dist eq_dec E a z) as [p |] eqn:P, (dist eq_dec E a' z) as [q |] eqn:Q; auto.
  - destruct (dist_triangle _ eq_dec _ E_whole _ _ _ _ _ H Q) as [p' [P' L]].
    destruct (dist_triangle _ eq_dec _ E_whole _ _ _ _ _ H' P) as [q' [Q' M]].
    rewrite P in P'. rewrite Q in Q'. injection P' as <-. injection Q' as <-. f_equal. lia.
  - destruct (dist_triangle _ eq_dec _ E_whole _ _ _ _ _ H' P) as [q' [Q' _]]. congruence.
  - destruct (dist_triangle _ eq_dec _ E_whole _ _ _ _ _ H Q) as [p' [P' _]]. congruence.
Qed.

End Trace.

(** Any others are a unit or more apart in some step. Then what was kept back of the exponent pays for rounding, if it is
    at least 4 eta for one unit: what `require_room` (traces/rounding.py) checks. D: the sum of all distances. *)
Theorem rounding_paid (beta eta : R) (D : Z) : (1 <= D)%Z -> 0 <= beta -> 4 * eta <= / 2 ^ 8 * (2 * beta) * level 1 ->
  2 * (beta * (1 - / 2 ^ 8) * level D) + 4 * eta <= 2 * beta * level D.
Proof.
  intros H b Q. assert (L : level 1 <= level D) by now apply level_le.
  assert (2 * beta * / 2 ^ 8 * level 1 <= 2 * beta * / 2 ^ 8 * level D); [| lra].
  apply Rmult_le_compat_l; [| exact L]. lra.
Qed.

(** Blocks compose: the second may depend on what the first released. *)
Theorem blocks_compose (p1 p1' p2 p2' c1 c2 : R) :
  0 <= p1 -> 0 <= p2 -> p1 <= exp c1 * p1' -> p2 <= exp c2 * p2' -> p1 * p2 <= exp (c1 + c2) * (p1' * p2').
Proof.
  intros A B H1 H2. rewrite exp_plus.
  replace (exp c1 * exp c2 * (p1' * p2')) with ((exp c1 * p1') * (exp c2 * p2')) by ring.
  now apply Rmult_le_compat.
Qed.

(** The exponents of a trace are any fractions a/b in (0, 1]: the recipe gives a good weight for each. *)
Theorem trace_step_good a b t N : (0 < a)%Z -> (0 < b)%Z -> follows (step_p a b) (step_q a b) t N ->
  lipschitz (weight t N) (IZR a / IZR b * level 1) /\ 0 <= IZR a / IZR b * level 1.
Proof.
  intros A B T. split; [now apply recipe_lipschitz |].
  assert (0 < IZR a / IZR b) by (apply Rdiv_lt_0_compat; now apply (IZR_lt 0)). unfold level. lra.
Qed.

(** The program takes no weight below 2^-600: as if what is farther were at a distance [c]. *)
Theorem trace_step_cut w s c : (0 <= c)%Z -> 0 <= s -> lipschitz w s -> lipschitz (fun D => w (Z.min D c)) s.
Proof.
  intros C S L D H. destruct (Z_lt_ge_dec D c) as [l | g].
  - rewrite !Z.min_l by lia. now apply L.
  - rewrite !Z.min_r by lia. destruct (L c C) as [P _]. repeat split; [exact P | lra |].
    pose proof (exp_le 0 s S) as Q. rewrite exp_0 in Q. rewrite <- (Rmult_1_l (w c)) at 1.
    apply Rmult_le_compat_r; lra.
Qed.
