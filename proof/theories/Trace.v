(* SPDX-License-Identifier: Apache-2.0 *)
(** Traces: one exponential mechanism over whole sequences of places.

    K(Z | x) = A(Z) prod_t w_t(d(x_t, Z_t)) / S(x), where A(Z) = m(Z_1) prod psi(Z_t, Z_t+1) does not depend on x. *)

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

Variable m : V -> R.
Hypothesis m_nonneg : forall z, 0 <= m z.
Variable p : R.
Hypothesis p_chance : 0 <= p <= 1.

Definition psi (z z' : V) : R := (1 - p) * (if eq_dec z z' then 1 else 0) + p * m z'.

Fixpoint moves (z : V) (Z : list V) : R := match Z with [] => 1 | z' :: Z' => psi z z' * moves z' Z' end.
Definition habit (Z : list V) : R := match Z with [] => 1 | z :: Z' => m z * moves z Z' end.

Lemma psi_nonneg z z' : 0 <= psi z z'.
Proof.
  unfold psi. assert (0 <= p * m z') by (apply Rmult_le_pos; [lra | apply m_nonneg]).
  destruct (eq_dec z z'); lra.
Qed.

Lemma habit_nonneg Z : 0 <= habit Z.
Proof.
  assert (M : forall Z z, 0 <= moves z Z).
  { clear Z. induction Z as [| z' Z IH]; simpl; intros z; [lra | apply Rmult_le_pos; auto using psi_nonneg]. }
  destruct Z; simpl; [lra | apply Rmult_le_pos; auto].
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

Definition trace_mechanism (st : steps) (x Z : list V) : R :=
  share (fun Z => habit Z * fit st x Z) (sequences (length st)) Z.

(** *** K(Z | x) <= e^(sum_t 2 s_t d(x_t, x'_t)) K(Z | x') *)
Theorem trace_private st x x' c Z : good st -> apart st x x' c -> In Z (sequences (length st)) ->
  trace_mechanism st x Z <= exp (2 * c) * trace_mechanism st x' Z.
Proof.
  intros G A I. replace (2 * c) with (c + c) by ring. rewrite exp_plus.
  assert (N : forall y Y, 0 <= habit Y * fit st y Y) by (intros; apply Rmult_le_pos; auto using habit_nonneg, fit_nonneg).
  assert (H : forall y y' Y, apart st y y' c -> habit Y * fit st y Y <= exp c * (habit Y * fit st y' Y)).
  { intros y y' Y B. rewrite <- Rmult_assoc, (Rmult_comm (exp c)), Rmult_assoc.
    apply Rmult_le_compat_l; [apply habit_nonneg | now apply (fit_near _ _ _ _ G B)]. }
  apply share_private; auto.
  - left; apply exp_pos.
  - intros Y _. apply H. now apply apart_sym.
Qed.

End Trace.

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
