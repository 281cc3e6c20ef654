(* SPDX-License-Identifier: Apache-2.0 *)
(** The requirement: m(B_l(x)) >= req(l) at every real level, from whole numbers at the jumps of each ball.

    Code: [mass/requirement.py] ([table]), [metric/verify.py], [metric/paper.py]; docs/guarantee.md. *)

From Coq Require Import Reals ZArith List Lra Lia Bool.
From Geoelastic Require Import Graph Sums Weights Mechanism.
Import ListNotations.
Local Open Scope Z_scope.

Fixpoint zsum {A : Type} (f : A -> Z) (l : list A) : Z := match l with [] => 0 | a :: l' => f a + zsum f l' end.

Lemma zsum_le {A : Type} (f g : A -> Z) l : (forall a, In a l -> f a <= g a) -> zsum f l <= zsum g l.
Proof.
  induction l as [| a l IH]; simpl; intros H; [lia |].
  pose proof (H a (or_introl eq_refl)). assert (zsum f l <= zsum g l) by (apply IH; auto). lia.
Qed.

Lemma zsum_sum {A : Type} (f : A -> Z) l : IZR (zsum f l) = sum (fun a => IZR (f a)) l.
Proof. induction l as [| a l IH]; simpl; [reflexivity | rewrite plus_IZR, IH; reflexivity]. Qed.

Section Requirement.

Variable V : Type.
Variable eq_dec : forall u v : V, {u = v} + {u <> v}.
Variable places : list V.
Variable mass : V -> Z.  (* in units of 2^-32, rounded down *)
Hypothesis mass_nonneg : forall z, 0 <= mass z.

Notation edges := (list (V * V * Z)).

Definition inside (E : edges) (x : V) (D : Z) (z : V) : bool :=
  match dist eq_dec E x z with Some a => a <=? D | None => false end.

Definition ball_mass (E : edges) (x : V) (D : Z) : Z := zsum (fun z => if inside E x D z then mass z else 0) places.

Lemma ball_mass_mono E F x D D' : whole F -> shorter E F -> D <= D' -> ball_mass E x D <= ball_mass F x D'.
Proof.
  intros P S L. apply zsum_le. intros z _. unfold inside.
  destruct (dist eq_dec E x z) as [a |] eqn:A.
  - destruct (shorter_dist _ eq_dec _ _ _ _ _ P S A) as [b [-> B]].
    destruct (Z.leb_spec a D); [rewrite (proj2 (Z.leb_le b D')) by lia; lia |].
    destruct (b <=? D'); [apply mass_nonneg | lia].
  - destruct (dist eq_dec F x z) as [b |]; [destruct (b <=? D'); [apply mass_nonneg | lia] | lia].
Qed.

Lemma shorter_refl (E : edges) : shorter E E.
Proof. intros u v w H. exists w; split; [now left | lia]. Qed.

(** The requirement in whole units: [table] D is what the ball of radius D must hold, for D up to [top]. *)
Variable table : Z -> Z.
Variable top : Z.

Definition holds (E : edges) (x : V) : Prop := forall D, 0 <= D <= top -> table D <= ball_mass E x D.

(** *** Just before each jump and at the end is enough *)
Theorem jumps_enough E x : (forall D, 0 <= D < top -> table D <= table (D + 1)) ->
  (forall D, 0 <= D <= top -> D = top \/ (exists z, In z places /\ dist eq_dec E x z = Some (D + 1)) ->
     table D <= ball_mass E x D) ->
  holds E x.
Proof.
  intros M J D [D0 Dt].
  remember (Z.to_nat (top - D)) as n eqn:Hn. revert D D0 Dt Hn.
  induction n as [| n IH]; intros D D0 Dt Hn.
  - apply J; [lia | left; lia].
  - assert (next : table (D + 1) <= ball_mass E x (D + 1)) by (apply IH; lia).
    destruct (Z_le_gt_dec (table D) (ball_mass E x D)) as [l | g]; auto.
    (* otherwise the ball does not grow at D + 1, and the later entry asks for as much *)
    enough (ball_mass E x (D + 1) <= ball_mass E x D) by (specialize (M D ltac:(lia)); lia).
    apply zsum_le. intros z I. unfold inside. destruct (dist eq_dec E x z) as [a |] eqn:A; [| lia].
    destruct (Z.eq_dec a (D + 1)) as [-> | ne].
    + assert (table D <= ball_mass E x D) by (apply J; [lia | right; eauto]). lia.
    + destruct (Z.leb_spec a (D + 1)), (Z.leb_spec a D); try lia; try apply mass_nonneg.
Qed.

(** *** Lowering edges, and adding some, keeps it *)
Theorem lowering_keeps E F x : whole F -> shorter E F -> holds E x -> holds F x.
Proof. intros P S H D B. apply Z.le_trans with (1 := H D B). apply ball_mass_mono; auto; lia. Qed.

(** ** Every real level *)

Section Reals.

Local Open Scope R_scope.

Variable m : V -> R.                   (* masses *)
Hypothesis m_mass : forall z, IZR (mass z) / 2 ^ 32 <= m z.
Variable req : R -> R.
Variables l_from l_top : R.
Hypothesis from_nonneg : 0 <= l_from.
Hypothesis top_floor : level top <= l_top < level (top + 1).

(** An entry asks for at least what req asks for anywhere in [D, D + 1) units. *)
Hypothesis table_covers : forall D l, (0 <= D <= top)%Z -> level D <= l < level (D + 1) -> l_from <= l <= l_top ->
  req l * 2 ^ 32 <= IZR (table D).

Definition ball_at (E : edges) (x : V) (l : R) : R :=
  sum (fun z => match dist eq_dec E x z with Some a => if Rle_dec (level a) l then m z else 0 | None => 0 end) places.

Theorem every_level E x : holds E x -> forall l, l_from <= l <= l_top -> req l <= ball_at E x l.
Proof.
  intros H l L. set (D := Int_part (l * 8192)).
  assert (I : level D <= l < level (D + 1)).
  { destruct (base_Int_part (l * 8192)) as [A B]. fold D in A, B. unfold level. rewrite plus_IZR. lra. }
  assert (B : (0 <= D <= top)%Z).
  { split.
    - assert (-1 < D)%Z; [| lia]. apply lt_IZR. unfold level in I. rewrite plus_IZR in I. lra.
    - assert (D < top + 1)%Z; [| lia]. apply lt_IZR. unfold level in *. rewrite !plus_IZR in *. lra. }
  pose proof (table_covers D l B I L) as C. pose proof (H D B) as M. apply IZR_le in M.
  assert (G : IZR (ball_mass E x D) / 2 ^ 32 <= ball_at E x l).
  { unfold ball_mass. rewrite zsum_sum. unfold Rdiv. rewrite Rmult_comm, <- sum_scale. apply sum_le.
    intros z _. unfold inside. pose proof (m_mass z) as mz.
    assert (0 <= IZR (mass z) / 2 ^ 32).
    { apply Rle_mult_inv_pos; [apply (IZR_le 0), mass_nonneg | apply pow_lt; lra]. }
    destruct (dist eq_dec E x z) as [a |]; [| lra].
    destruct (Z.leb_spec a D) as [le | gt]; destruct (Rle_dec (level a) l) as [r | r]; try lra.
    exfalso. apply r. apply level_le in le. lra. }
  apply (Rmult_le_reg_r (2 ^ 32)); [apply pow_lt; lra |].
  apply (Rmult_le_compat_r (2 ^ 32)) in G; [| left; apply pow_lt; lra].
  replace (IZR (ball_mass E x D) / 2 ^ 32 * 2 ^ 32) with (IZR (ball_mass E x D)) in G by (field; apply pow_nonzero; lra).
  lra.
Qed.

End Reals.

(** ** The paper's algorithm *)

(** A graph, and at each place a level below which the requirement holds. *)
Definition state : Type := (edges * (V -> Z))%type.
Definition invariant (s : state) : Prop :=
  whole (fst s) /\ forall x D, 0 <= D < snd s x -> D <= top -> table D <= ball_mass (fst s) x D.

(** (1) raise l_x to where some mass that the ball of l_x is known to hold stops being enough: req*(m(B_{l_x}(x))).
    The mass may be that of an earlier graph: [M] is at most what the ball holds now.
    (2) add an edge of length l_x from x to any x'. *)
Inductive paper_step : state -> state -> Prop :=
| raise E lev lev' x M : 0 <= lev x -> M <= ball_mass E x (lev x) ->
    (forall D, lev x <= D < lev' x -> D <= top -> table D <= M) -> (forall y, y <> x -> lev' y = lev y) ->
    paper_step (E, lev) (E, lev')
| add_edge E lev x x' l : 0 <= l -> paper_step (E, lev) ((x, x', l) :: E, lev).

Inductive paper_run : state -> state -> Prop :=
| run_nil s : paper_run s s
| run_cons s t u : paper_step s t -> paper_run t u -> paper_run s u.

Lemma invariant_step s t : paper_step s t -> invariant s -> invariant t.
Proof.
  intros P [W I]. destruct P as [E lev lev' x M l0 LM R O | E lev x x' l l0]; split; simpl in *; auto.
  - intros y D B T. destruct (eq_dec y x) as [-> | n].
    + destruct (Z_lt_ge_dec D (lev x)); [apply I; lia |].
      pose proof (R D ltac:(lia) T). pose proof (ball_mass_mono E E x (lev x) D W (shorter_refl E) ltac:(lia)). lia.
    + rewrite (O y n) in B. now apply I.
  - intros u v w [[= <- <- <-] | H]; [exact l0 | exact (W _ _ _ H)].
  - intros y D B T. apply Z.le_trans with (1 := I y D B T). apply ball_mass_mono; [| | lia].
    + intros u v w [[= <- <- <-] | H]; [exact l0 | exact (W _ _ _ H)].
    + apply more_edges_shorter. apply incl_tl, incl_refl.
Qed.

Theorem paper_keeps s t : paper_run s t -> invariant s -> invariant t.
Proof. induction 1 as [| s t u P R IH]; auto. intros I. apply IH. eapply invariant_step; eauto. Qed.

(** Where a run ends with l_x beyond the top, the requirement holds; it begins with no edges and level 0 everywhere. *)
Theorem paper_ends s x : paper_run ([], fun _ => 0) s -> top < snd s x -> holds (fst s) x.
Proof.
  intros R T D B. apply paper_keeps in R.
  - destruct R as [_ I]. apply I; lia.
  - split; [intros ? ? ? [] | simpl; intros; lia].
Qed.

End Requirement.
