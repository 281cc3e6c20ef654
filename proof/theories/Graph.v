(* SPDX-License-Identifier: Apache-2.0 *)
(** Undirected graphs with whole weights >= 0, and their shortest-path distance.

    A graph is a list of edges (u, v, w). Its distance is *defined* by the recursion of Floyd and Warshall, so that it
    is a function (no choice, no excluded middle), and *characterised* as the least length of a walk. [None] is
    infinite. Code: [metric/graph.py], [metric/metric.py]. *)

From Coq Require Import ZArith List Lia Bool.
Import ListNotations.
Local Open Scope Z_scope.

Section Graph.

Variable V : Type.
Variable eq_dec : forall u v : V, {u = v} + {u <> v}.

Definition edge : Type := (V * V * Z)%type.

Definition arc (E : list edge) (u v : V) (w : Z) : Prop := In (u, v, w) E \/ In (v, u, w) E.

Inductive walk (E : list edge) : V -> V -> Z -> Prop :=
| walk_nil x : walk E x x 0
| walk_cons x y z w L : arc E x y w -> walk E y z L -> walk E x z (w + L).

Definition whole (E : list edge) : Prop := forall u v w, In (u, v, w) E -> 0 <= w.

(** ** Numbers with an infinity *)

Definition omin (a b : option Z) : option Z :=
  match a, b with
  | Some p, Some q => Some (Z.min p q)
  | Some p, None => Some p
  | None, _ => b
  end.

Definition oadd (a b : option Z) : option Z :=
  match a, b with Some p, Some q => Some (p + q) | _, _ => None end.

Definition ole (a : option Z) (L : Z) : Prop := match a with Some p => p <= L | None => False end.

Lemma omin_le a b L : ole (omin a b) L <-> ole a L \/ ole b L.
Proof. destruct a, b; simpl; lia. Qed.

Lemma ole_trans a L M : ole a L -> L <= M -> ole a M.
Proof. destruct a; simpl; [lia | tauto]. Qed.

(** ** The distance *)

Section Distance.

Variable E : list edge.
Hypothesis E_whole : whole E.

Definition joins (u v : V) (e : edge) : bool :=
  let '(a, b, _) := e in
  if eq_dec a u then if eq_dec b v then true else if eq_dec a v then if eq_dec b u then true else false else false
  else if eq_dec a v then if eq_dec b u then true else false else false.

Fixpoint lightest (l : list edge) (u v : V) : option Z :=
  match l with
  | [] => None
  | e :: l' => if joins u v e then omin (Some (snd e)) (lightest l' u v) else lightest l' u v
  end.

Definition base (u v : V) : option Z := if eq_dec u v then Some 0 else lightest E u v.

Fixpoint through (l : list V) (u v : V) : option Z :=
  match l with
  | [] => base u v
  | k :: l' => omin (through l' u v) (oadd (through l' u k) (through l' k v))
  end.

Definition ends : list V := map (fun e => fst (fst e)) E ++ map (fun e => snd (fst e)) E.

Definition dist (u v : V) : option Z := through ends u v.

(** Walks whose places, but the first, are in [l] or the last one. *)
Inductive walkin (l : list V) : V -> V -> Z -> Prop :=
| in_nil x : walkin l x x 0
| in_cons x y z w L : arc E x y w -> In y l \/ y = z -> walkin l y z L -> walkin l x z (w + L).

Lemma arc_whole u v w : arc E u v w -> 0 <= w.
Proof. intros [H | H]; exact (E_whole _ _ _ H). Qed.

Lemma arc_sym u v w : arc E u v w -> arc E v u w.
Proof. unfold arc; tauto. Qed.

Lemma walk_whole x z L : walk E x z L -> 0 <= L.
Proof. induction 1 as [| ? ? ? ? ? A]; [lia | apply arc_whole in A; lia]. Qed.

Lemma walkin_whole l x z L : walkin l x z L -> 0 <= L.
Proof. induction 1 as [| ? ? ? ? ? A]; [lia | apply arc_whole in A; lia]. Qed.

Lemma joins_arc u v e : joins u v e = true <-> (fst (fst e) = u /\ snd (fst e) = v) \/ (fst (fst e) = v /\ snd (fst e) = u).
Proof.
  destruct e as [[a b] w]; simpl.
  destruct (eq_dec a u), (eq_dec b v), (eq_dec a v), (eq_dec b u); subst; intuition congruence.
Qed.

Lemma lightest_sound l u v D : lightest l u v = Some D -> In (u, v, D) l \/ In (v, u, D) l.
Proof.
  revert D; induction l as [| e l IH]; simpl; [discriminate |]; intros D.
  destruct (joins u v e) eqn:J.
  - apply joins_arc in J; destruct e as [[a b] w]; simpl in *.
    destruct (lightest l u v) as [q |].
    + intros [= <-]. destruct (Z.min_dec w q) as [-> | ->].
      * destruct J as [[-> ->] | [-> ->]]; auto.
      * destruct (IH q eq_refl); auto.
    + intros [= <-]. destruct J as [[-> ->] | [-> ->]]; auto.
  - intros H; destruct (IH D H); auto.
Qed.

Lemma lightest_complete l u v w : In (u, v, w) l \/ In (v, u, w) l -> ole (lightest l u v) w.
Proof.
  induction l as [| e l IH]; simpl; [tauto |]; intros H.
  destruct (joins u v e) eqn:J.
  - apply (omin_le (Some (snd e))).
    destruct H as [[-> | H] | [-> | H]]; simpl; auto; left; lia.
  - assert (N : forall a b, e = (a, b, w) -> ~ ((a = u /\ b = v) \/ (a = v /\ b = u))).
    { intros a b -> K. apply (joins_arc u v (a, b, w)) in K. congruence. }
    destruct H as [[H | H] | [H | H]]; auto; exfalso; eapply N; eauto.
Qed.

Lemma walkin_more l k x z L : walkin l x z L -> walkin (k :: l) x z L.
Proof. induction 1 as [| x y z w L A B W IH]; [constructor | econstructor; eauto; simpl; tauto]. Qed.

Lemma walkin_join l k x z L M : walkin l x k L -> walkin l k z M -> walkin (k :: l) x z (L + M).
Proof.
  intros W; revert z M; induction W as [x | x y k w L A B W IH]; intros z M W2.
  - now apply walkin_more.
  - rewrite <- Z.add_assoc. econstructor; eauto. simpl. destruct B; subst; auto.
Qed.

Lemma through_sound l : forall u v D, through l u v = Some D -> walkin l u v D.
Proof.
  induction l as [| k l IH]; simpl; intros u v D.
  - unfold base; destruct (eq_dec u v) as [-> | _].
    + intros [= <-]; constructor.
    + intros H; apply lightest_sound in H.
      replace D with (D + 0) by lia. econstructor; [exact H | now right | constructor].
  - intros H.
    destruct (through l u v) as [p |] eqn:P, (through l u k) as [q |] eqn:Q, (through l k v) as [r |] eqn:R;
      simpl in H; try discriminate; injection H as <-;
      try (destruct (Z.min_dec p (q + r)) as [-> | ->]);
      first [ now apply walkin_more, IH | now eapply walkin_join; apply IH ].
Qed.

Lemma through_self l x : ole (through l x x) 0.
Proof.
  induction l as [| k l IH]; simpl.
  - unfold base; destruct (eq_dec x x); simpl; [lia | congruence].
  - apply omin_le; auto.
Qed.

Lemma through_nonneg l u v D : through l u v = Some D -> 0 <= D.
Proof. intros H; apply through_sound in H; now apply walkin_whole in H. Qed.

Lemma through_complete l : forall x z L, walkin l x z L -> ole (through l x z) L.
Proof.
  induction l as [| k l IH]; intros x z L W.
  - simpl. destruct W as [x | x y z w L A [[] | ->] W].
    + unfold base; destruct (eq_dec x x); simpl; [lia | congruence].
    + apply walkin_whole in W. pose proof (arc_whole _ _ _ A).
      unfold base; destruct (eq_dec x z); simpl; [lia |].
      eapply ole_trans; [apply lightest_complete; exact A | lia].
  - change (ole (omin (through l x z) (oadd (through l x k) (through l k z))) L). apply omin_le.
    induction W as [x | x y z w L A B W IHW].
    + left; apply through_self.
    + pose proof (arc_whole _ _ _ A) as w0. pose proof (walkin_whole _ _ _ _ W) as L0.
      assert (step : forall t, In y l \/ y = t -> forall M, walkin l y t M -> ole (through l x t) (w + M)).
      { intros t T M WM. apply IH. econstructor; eauto. }
      destruct B as [[-> | B] | ->].
      * (* the next place is k *)
        right. pose proof (step y (or_intror eq_refl) 0 (in_nil _ _)) as S1.
        assert (S2 : ole (through l y z) L).
        { destruct IHW as [I | I]; auto.
          destruct (through l y y) eqn:P, (through l y z) eqn:Q; simpl in *; try tauto.
          apply through_nonneg in P. lia. }
        destruct (through l x y), (through l y z); simpl in *; try tauto. lia.
      * destruct IHW as [I | I].
        -- left. destruct (through l y z) as [q |] eqn:Q; simpl in I; [| tauto].
           eapply ole_trans; [apply (step z (or_introl B) q); now apply through_sound | lia].
        -- right. destruct (through l y k) as [q |] eqn:Q, (through l k z) as [r |] eqn:R; simpl in I; try tauto.
           pose proof (step k (or_introl B) q (through_sound _ _ _ _ Q)) as S1.
           destruct (through l x k); simpl in *; [lia | tauto].
      * left. eapply ole_trans; [apply (step z (or_intror eq_refl) 0); constructor | lia].
Qed.

Lemma walkin_walk l x z L : walkin l x z L -> walk E x z L.
Proof. induction 1; econstructor; eauto. Qed.

Lemma arc_ends u v w : arc E u v w -> In v ends.
Proof.
  intros [H | H]; apply in_or_app; [right | left]; apply in_map_iff; eexists; split; try exact H; reflexivity.
Qed.

Lemma walk_walkin x z L : walk E x z L -> walkin ends x z L.
Proof. induction 1 as [| x y z w L A W IH]; [constructor |]. econstructor; eauto. left; eapply arc_ends; eauto. Qed.

(** The distance is the least length of a walk, and infinite if there is none. *)
Theorem dist_walk x z D : dist x z = Some D -> walk E x z D.
Proof. intros H; eapply walkin_walk, through_sound, H. Qed.

Theorem dist_least x z L : walk E x z L -> exists D, dist x z = Some D /\ D <= L.
Proof.
  intros W; apply walk_walkin, through_complete in W; fold (dist x z) in W.
  destruct (dist x z) as [D |]; simpl in W; [eauto | tauto].
Qed.

Lemma walk_app x y z L M : walk E x y L -> walk E y z M -> walk E x z (L + M).
Proof.
  induction 1 as [| x u y w L A W IH]; intros W2; [exact W2 |].
  rewrite <- Z.add_assoc. econstructor; eauto.
Qed.

Lemma walk_arc x y w : arc E x y w -> walk E x y w.
Proof. intros A; replace w with (w + 0) by lia; econstructor; [exact A | constructor]. Qed.

Lemma walk_sym x z L : walk E x z L -> walk E z x L.
Proof.
  induction 1 as [| x y z w L A W IH]; [constructor |].
  rewrite Z.add_comm. eapply walk_app; [exact IH | apply walk_arc, arc_sym, A].
Qed.

Theorem dist_nonneg x z D : dist x z = Some D -> 0 <= D.
Proof. intros H; apply dist_walk in H; now apply walk_whole in H. Qed.

Theorem dist_self x : dist x x = Some 0.
Proof.
  destruct (dist_least x x 0 (walk_nil _ _)) as [D [H L]].
  pose proof (dist_nonneg _ _ _ H). rewrite H; f_equal; lia.
Qed.

Theorem dist_sym x z : dist x z = dist z x.
Proof.
  destruct (dist x z) as [a |] eqn:A, (dist z x) as [b |] eqn:B; auto.
  - pose proof (walk_sym _ _ _ (dist_walk _ _ _ A)) as WA. pose proof (walk_sym _ _ _ (dist_walk _ _ _ B)) as WB.
    apply dist_least in WA as [a' [A' ?]]. apply dist_least in WB as [b' [B' ?]].
    rewrite A in B'; rewrite B in A'. injection A' as ->. injection B' as ->. f_equal; lia.
  - apply dist_walk, walk_sym, dist_least in A as [? [? _]]; congruence.
  - apply dist_walk, walk_sym, dist_least in B as [? [? _]]; congruence.
Qed.

Theorem dist_triangle x y z a b : dist x y = Some a -> dist y z = Some b -> exists c, dist x z = Some c /\ c <= a + b.
Proof. intros A B. apply dist_least. eapply walk_app; apply dist_walk; eauto. Qed.

End Distance.

(** ** Shorter edges and more edges only shorten distances *)

(** Every walk in [E] has one in [F] that is no longer. *)
Definition shorter (E F : list edge) : Prop :=
  forall u v w, In (u, v, w) E -> exists w', arc F u v w' /\ w' <= w.

Lemma shorter_walk E F x z L : shorter E F -> walk E x z L -> exists M, walk F x z M /\ M <= L.
Proof.
  intros S; induction 1 as [x | x y z w L A W [M [WM LM]]].
  - exists 0; split; [constructor | lia].
  - assert (exists w', arc F x y w' /\ w' <= w) as [w' [A' l']].
    { destruct A as [A | A]; destruct (S _ _ _ A) as [w' [A' l']]; exists w'; split; auto; unfold arc in *; tauto. }
    exists (w' + M); split; [econstructor; eauto | lia].
Qed.

Theorem shorter_dist E F x z D :
  whole F -> shorter E F -> dist E x z = Some D -> exists D', dist F x z = Some D' /\ D' <= D.
Proof.
  intros P S H. apply dist_walk in H. destruct (shorter_walk _ _ _ _ _ S H) as [M [WM LM]].
  destruct (dist_least F P x z M WM) as [D' [H' l']]. exists D'; split; [exact H' | lia].
Qed.

Theorem more_edges_shorter E F : incl E F -> shorter E F.
Proof. intros I u v w H; exists w; split; [left; auto | lia]. Qed.

End Graph.

Arguments arc {V}.
Arguments walk {V}.
Arguments whole {V}.
Arguments dist {V}.
Arguments shorter {V}.
