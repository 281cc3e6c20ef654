(* SPDX-License-Identifier: Apache-2.0 *)
(** When the checker says yes, the hypotheses of the theorems hold: the map keeps its requirement at every level, and
    its mechanism is private. The hints may be anything. *)

From Coq Require Import Reals ZArith List Bool Lra Lia Psatz Permutation FMapPositive.
From Geoelastic Require Import Graph Sums Weights Mechanism Relief Requirement Checker.
Import ListNotations.
Local Open Scope Z_scope.

(** ** Tools *)

Lemma all_below_spec n f : all_below n f = true <-> forall i, 0 <= i < Z.of_nat n -> f i = true.
Proof.
  induction n as [| n IH]; simpl.
  - split; [intros _ i I; lia | auto].
  - destruct (f (Z.of_nat n)) eqn:F.
    + rewrite IH. split; intros H i I; [| apply H; lia].
      destruct (Z.eq_dec i (Z.of_nat n)) as [-> | N]; auto. apply H. lia.
    + split; [discriminate | intros H; rewrite H in F; [discriminate | lia]].
Qed.

Lemma every_spec n f : every n f = true -> forall i, 0 <= i < n -> f i = true.
Proof. intros H i I. apply (proj1 (all_below_spec _ _) H). lia. Qed.

Lemma within_spec n i : within n i = true <-> 0 <= i < n.
Proof. unfold within. rewrite andb_true_iff, Z.leb_le, Z.ltb_lt. tauto. Qed.

Lemma has_spec l v w : has l v w = true <-> In (v, w) l.
Proof.
  induction l as [| [a b] l IH]; simpl; [split; [discriminate | tauto] |].
  destruct ((a =? v) && (b =? w)) eqn:Q.
  - apply andb_true_iff in Q as [A B]. apply Z.eqb_eq in A, B. subst. tauto.
  - rewrite IH. split; auto. intros [e | I]; auto. injection e as -> ->.
    rewrite !Z.eqb_refl in Q. discriminate.
Qed.

(** A part of a list without repetition, and the rest. *)
Lemma split_part (A : Type) (l L : list A) : NoDup l -> incl l L -> exists rest, Permutation L (l ++ rest).
Proof.
  intros ND; revert L; induction ND as [| a l NI ND IH]; intros L I.
  - exists L. reflexivity.
  - destruct (in_split a L (I a (or_introl eq_refl))) as [L1 [L2 ->]].
    destruct (IH (L1 ++ L2)) as [rest P].
    { intros b B. specialize (I b (or_intror B)). apply in_app_or in I. apply in_or_app.
      destruct I as [I | [-> | I]]; auto. contradiction. }
    exists rest. simpl. rewrite <- P. symmetry. apply Permutation_middle.
Qed.

Lemma zsum_permutation {A} (f : A -> Z) l m : Permutation l m -> zsum f l = zsum f m.
Proof. induction 1; simpl; lia. Qed.

Lemma rsum_permutation {A} (f : A -> R) l m : Permutation l m -> sum f l = sum f m.
Proof. induction 1; simpl; lra. Qed.

Lemma zsum_app {A} (f : A -> Z) l m : zsum f (l ++ m) = zsum f l + zsum f m.
Proof. induction l; simpl; lia. Qed.

Lemma zsum_nonneg {A} (f : A -> Z) l : (forall a, In a l -> 0 <= f a) -> 0 <= zsum f l.
Proof.
  induction l as [| a l IH]; simpl; intros H; [lia |].
  pose proof (H a (or_introl eq_refl)). assert (0 <= zsum f l) by (apply IH; auto). lia.
Qed.

Lemma zsum_ext {A} (f g : A -> Z) l : (forall a, In a l -> f a = g a) -> zsum f l = zsum g l.
Proof. intros H; apply Z.le_antisymm; apply zsum_le; intros a I; rewrite (H a I); lia. Qed.

Lemma nodup_inverse {A B} (f : A -> B) (g : B -> A) l : (forall a, In a l -> g (f a) = a) -> NoDup l -> NoDup (List.map f l).
Proof.
  intros G ND. induction ND as [| a l NI ND IH]; simpl; constructor.
  - intros I. apply in_map_iff in I as [b [e I]]. apply NI.
    rewrite <- (G a), <- e, (G b); simpl; auto.
  - apply IH. intros b I. apply G. simpl; auto.
Qed.

(** The first n whole numbers. *)
Definition range (n : Z) : list Z := List.map Z.of_nat (seq 0 (Z.to_nat n)).

Lemma range_in n i : In i (range n) <-> 0 <= i < n.
Proof.
  unfold range. rewrite in_map_iff. split.
  - intros [k [<- I]]. apply in_seq in I. lia.
  - intros H. exists (Z.to_nat i). rewrite in_seq. lia.
Qed.

Lemma range_nodup n : NoDup (range n).
Proof. apply (nodup_inverse _ Z.to_nat); [intros; lia | apply seq_NoDup]. Qed.

Lemma range_S k : 0 <= k -> range (k + 1) = range k ++ [k].
Proof.
  intros H. unfold range. replace (Z.to_nat (k + 1)) with (S (Z.to_nat k)) by lia.
  rewrite seq_S, map_app. simpl. do 2 f_equal. lia.
Qed.

Section Soundness.

Variable m : file.
Variable h : hints.

Notation n := (size m).

(** ** What the file means *)

Definition places : list Z := range n.
Definition edges : list (Z * Z * Z) := List.map (edge_at m) (range (edge_count m)).
Definition lowered_edges : list (Z * Z * Z) := lowered Z edges (slack m) (height m).

(** Masses and measures are checked to be >= 0 for all places; the model asks it of all numbers. *)
Definition mass_of (z : Z) : Z := Z.max 0 (mass m z).
Definition measure_of (z : Z) : R := IZR (Z.max 0 (measure m z)).

Lemma mass_of_nonneg z : 0 <= mass_of z.
Proof. unfold mass_of. lia. Qed.

Lemma measure_of_nonneg z : (0 <= measure_of z)%R.
Proof. apply (IZR_le 0). lia. Qed.

Lemma edges_in u v w : In (u, v, w) edges <-> exists k, 0 <= k < edge_count m /\ edge_at m k = (u, v, w).
Proof.
  unfold edges. rewrite in_map_iff. split; intros [k [A B]]; exists k; split; auto; apply range_in; auto.
Qed.

Notation d := (dist Z.eq_dec edges).
Notation d' := (dist Z.eq_dec lowered_edges).

(** ** The graph *)

Section Graph_checked.

Hypothesis G : graph_ok m h = true.

Lemma edge_fact u v w : In (u, v, w) edges ->
  0 <= u < n /\ 0 <= v < n /\ 0 <= w /\ In (v, w) (near h u) /\ In (u, w) (near h v) /\ fence m u = fence m v.
Proof.
  intros I. apply edges_in in I as [k [K e]]. unfold graph_ok in G. apply andb_true_iff in G as [GE _].
  pose proof (every_spec _ _ GE k K) as H. unfold edge_ok in H. rewrite e in H.
  rewrite !andb_true_iff, !within_spec, !has_spec, Z.leb_le, Z.eqb_eq in H. tauto.
Qed.

Lemma place_fact v : 0 <= v < n ->
  0 <= mass m v /\ 0 <= measure m v /\ 0 <= fence m v /\ all_edges m v (near h v) (which h v) = true /\ tied_ok m h v = true.
Proof.
  intros I. unfold graph_ok in G. apply andb_true_iff in G as [_ GP].
  pose proof (every_spec _ _ GP v I) as H. unfold place_ok in H. rewrite !andb_true_iff, !Z.leb_le in H. tauto.
Qed.

Theorem edges_whole : whole edges.
Proof. intros u v w I. apply edge_fact in I. tauto. Qed.

Theorem edges_closed : closed Z (fence m) edges.
Proof. intros u v w I. apply edge_fact in I. tauto. Qed.

Lemma arc_range u v w : arc edges u v w -> 0 <= u < n /\ 0 <= v < n.
Proof. intros [A | A]; apply edge_fact in A; tauto. Qed.

Lemma arc_near u v w : arc edges u v w -> In (v, w) (near h u).
Proof. intros [A | A]; apply edge_fact in A; tauto. Qed.

Lemma all_edges_arc u l ks : all_edges m u l ks = true -> forall v w, In (v, w) l -> arc edges u v w.
Proof.
  revert ks; induction l as [| [a b] l IH]; intros ks H v w I; [destruct I |].
  destruct ks as [| k ks]; simpl in H; [discriminate |].
  destruct (is_edge m u a b k) eqn:Q; [| discriminate].
  destruct I as [[= -> ->] | I]; [| eapply IH; eauto].
  unfold is_edge in Q. apply andb_true_iff in Q as [K Q]. apply within_spec in K.
  destruct (edge_at m k) as [[p q] c] eqn:e.
  rewrite andb_true_iff, orb_true_iff, !andb_true_iff, !Z.eqb_eq in Q.
  destruct Q as [-> [[-> ->] | [-> ->]]]; [left | right]; apply edges_in; eauto.
Qed.

Lemma near_arc u v w : 0 <= u < n -> In (v, w) (near h u) -> arc edges u v w.
Proof. intros U I. apply place_fact in U. eapply all_edges_arc; [apply U | exact I]. Qed.

(** Fences are tied together: distance 0 inside. *)
Theorem tied_inside : forall u v, 0 <= u < n -> 0 <= v < n -> fence m u = fence m v -> 0 < fence m u -> d u v = Some 0.
Proof.
  assert (R : forall v, 0 <= v -> v < n -> 0 < fence m v -> walk edges (first_of h (fence m v)) v 0).
  { intros w W. pattern w. apply Zlt_0_ind with (x := w); [| exact W]. clear w W. intros v IH V0 Vn F.
    destruct (place_fact v ltac:(lia)) as [_ [_ [_ [_ T]]]]. unfold tied_ok in T.
    rewrite !orb_true_iff, !Z.eqb_eq, existsb_exists in T. destruct T as [[T | T] | [[u w] [I T]]].
    - lia.
    - rewrite T. constructor.
    - simpl in T. rewrite !andb_true_iff, within_spec, !Z.eqb_eq in T. destruct T as [[U f] ->].
      specialize (IH u ltac:(lia) ltac:(lia) ltac:(lia)). rewrite f in IH.
      apply near_arc in I; [| lia]. replace 0 with (0 + 0) by lia.
      eapply walk_app; [exact IH |]. apply walk_arc. unfold arc in *; tauto. }
  intros u v U V F P.
  assert (W : walk edges u v (0 + 0)).
  { eapply walk_app; [apply walk_sym; apply (R u); lia |]. rewrite F. apply R; lia. }
  destruct (dist_least _ Z.eq_dec _ edges_whole _ _ _ W) as [D [e L]]. rewrite e. f_equal.
  pose proof (dist_nonneg _ Z.eq_dec _ edges_whole _ _ _ e). lia.
Qed.

(** ** The requirement *)

Section Ball.

Variables (a : around) (x : Z).

Lemma member_spec k u : member a k u = true <-> 0 <= rank a u < k /\ place a (rank a u) = u.
Proof. unfold member. rewrite !andb_true_iff, Z.leb_le, Z.ltb_lt, Z.eqb_eq. tauto. Qed.

Definition firsts (k : Z) : list Z := List.map (place a) (range k).

Lemma firsts_S k : 0 <= k -> firsts (k + 1) = firsts k ++ [place a k].
Proof. intros K. unfold firsts. rewrite range_S, map_app by exact K. reflexivity. Qed.

Lemma firsts_in k v : In v (firsts k) <-> exists j, 0 <= j < k /\ place a j = v.
Proof. unfold firsts. rewrite in_map_iff. split; intros [j [A B]]; exists j; split; auto; apply range_in; auto. Qed.

Lemma firsts_nodup k : (forall j, 0 <= j < k -> rank a (place a j) = j) -> NoDup (firsts k).
Proof. intros H. apply (nodup_inverse _ (rank a)); [intros j J; apply H, range_in, J | apply range_nodup]. Qed.

Definition settled_to (k : Z) : Prop := forall j, 0 <= j < k -> settled m (near h) a x j = true.

Lemma settled_fact k : settled m (near h) a x k = true ->
  0 <= place a k < n /\ rank a (place a k) = k /\ 0 <= reach a (place a k).
Proof. unfold settled. rewrite !andb_true_iff, within_spec, Z.eqb_eq, Z.leb_le. tauto. Qed.

Lemma settled_walk k : settled_to k -> forall j, 0 <= j -> j < k ->
  exists L, walk edges x (place a j) L /\ L <= reach a (place a j).
Proof.
  intros S j J. pattern j. apply Zlt_0_ind with (x := j); [| exact J]. clear j J. intros j IH J0 J.
  pose proof (S j ltac:(lia)) as H. destruct (settled_fact _ H) as [P [Q R]].
  unfold settled in H. rewrite !andb_true_iff in H. destruct H as [_ H].
  destruct (Z.eqb_spec j 0) as [-> | N].
  - rewrite andb_true_iff, !Z.eqb_eq in H. destruct H as [-> ->]. exists 0. split; [constructor | lia].
  - apply existsb_exists in H as [[u w] [I H]]. simpl in H. rewrite andb_true_iff, member_spec, Z.leb_le in H.
    destruct H as [[B e] L]. destruct (IH (rank a u) ltac:(lia) ltac:(lia)) as [M [W LM]]. rewrite e in *.
    apply near_arc in I; [| exact P]. exists (M + w). split; [| lia].
    eapply walk_app; [exact W |]. apply walk_arc. unfold arc in *; tauto.
Qed.

Notation ball_mass := (ball_mass Z Z.eq_dec places mass_of edges).

Lemma found_le k D : 0 <= k -> settled_to k -> (forall j, 0 <= j < k -> reach a (place a j) <= D) ->
  zsum (mass m) (firsts k) <= ball_mass x D.
Proof.
  intros K S B.
  assert (F : forall v, In v (firsts k) -> 0 <= v < n /\ inside Z Z.eq_dec edges x D v = true).
  { intros v I. apply firsts_in in I as [j [J <-]]. pose proof (settled_fact _ (S j J)) as [P _]. split; auto.
    destruct (settled_walk k S j ltac:(lia) ltac:(lia)) as [L [W LL]].
    destruct (dist_least _ Z.eq_dec _ edges_whole _ _ _ W) as [c [e Lc]].
    unfold inside. rewrite e. apply Z.leb_le. specialize (B j J). lia. }
  destruct (split_part _ (firsts k) places) as [rest P].
  - apply firsts_nodup. intros j J. apply (settled_fact _ (S j J)).
  - intros v I. apply range_in. now apply F.
  - unfold Requirement.ball_mass. rewrite (zsum_permutation _ _ _ P), zsum_app.
    assert (0 <= zsum (fun z => if inside Z Z.eq_dec edges x D z then mass_of z else 0) rest).
    { apply zsum_nonneg. intros z _. destruct (inside _ _ _ _ _ _); [apply mass_of_nonneg | lia]. }
    enough (zsum (mass m) (firsts k) <= zsum (fun z => if inside Z Z.eq_dec edges x D z then mass_of z else 0) (firsts k)) by lia.
    apply zsum_le. intros v I. destruct (F v I) as [_ ->]. unfold mass_of. lia.
Qed.

Hypothesis rises : forall D D', 0 <= D -> D <= D' -> D' <= top m -> required m D <= required m D'.

Lemma climb_sound left : forall k found last,
  0 <= k -> settled_to k -> found = zsum (mass m) (firsts k) -> (forall j, 0 <= j < k -> reach a (place a j) <= last) ->
  0 <= last <= top m -> (forall D, 0 <= D < last -> required m D <= ball_mass x D) ->
  climb m h a x left k found last = true -> forall D, 0 <= D <= top m -> required m D <= ball_mass x D.
Proof.
  induction left as [| left IH]; intros k found last K S Hf B L H C D HD; simpl in C.
  - apply Z.leb_le in C. destruct (Z_lt_ge_dec D last); [apply H; lia |].
    pose proof (rises D (top m) ltac:(lia) ltac:(lia) ltac:(lia)).
    pose proof (found_le k D K S ltac:(intros j J; specialize (B j J); lia)). lia.
  - match type of C with (if ?b then _ else _) = _ => destruct b eqn:Q; [| discriminate] end.
    rewrite !andb_true_iff, orb_true_iff, !Z.leb_le in Q. destruct Q as [[[Q1 Q2] Q3] Q4].
    eapply (IH (k + 1) _ _); try exact C; try lia.
    + intros j J. destruct (Z.eq_dec j k) as [-> | N]; [exact Q1 | apply S; lia].
    + rewrite firsts_S, zsum_app by exact K. simpl. lia.
    + intros j J. destruct (Z.eq_dec j k) as [-> | N]; [lia |]. specialize (B j ltac:(lia)). lia.
    + intros D' [D0 D1]. destruct (Z_lt_ge_dec D' last); [apply H; lia |].
      destruct Q4 as [Q4 | Q4]; [lia |].
      pose proof (rises D' (reach a (place a k) - 1) ltac:(lia) ltac:(lia) ltac:(lia)).
      pose proof (found_le k D' K S ltac:(intros j J; specialize (B j J); lia)). lia.
Qed.

End Ball.

Theorem requirement_sound : requirement_ok m h = true -> forall x, 0 <= x < n -> secret m x = true -> fence m x = 0 ->
  holds Z Z.eq_dec places mass_of (required m) (top m) edges x.
Proof.
  intros H x X Sx Fx. unfold requirement_ok in H. rewrite !andb_true_iff, Z.leb_le in H. destruct H as [[T R] B].
  assert (steps : forall k D, 0 <= D -> D + Z.of_nat k <= top m -> required m D <= required m (D + Z.of_nat k)).
  { induction k as [| k IH]; intros D D0 L; [rewrite Z.add_0_r; lia |].
    specialize (IH D D0 ltac:(lia)). pose proof (every_spec _ _ R (D + Z.of_nat k) ltac:(lia)) as Q.
    apply Z.leb_le in Q. replace (D + Z.of_nat (S k)) with (D + Z.of_nat k + 1) by lia. lia. }
  assert (rises : forall D D', 0 <= D -> D <= D' -> D' <= top m -> required m D <= required m D').
  { intros D D' D0 L Lt. pose proof (steps (Z.to_nat (D' - D)) D D0 ltac:(lia)) as Q.
    now replace (D + Z.of_nat (Z.to_nat (D' - D))) with D' in Q by lia. }
  pose proof (every_spec _ _ B x X) as Q. unfold ball_ok in Q. rewrite Sx, Fx in Q. simpl in Q.
  intros D HD. eapply (climb_sound _ _ rises _ 0 0 0); try exact Q; try reflexivity; try lia; intros j J; lia.
Qed.

(** ** The weight table *)

Section Relief_checked.

Hypothesis W : weights_ok h = true.
Hypothesis Low : every n (fun u => all_lowered m u (near h u) (near_low h u)) = true.

Lemma weights_fact :
  0 < period h /\ (forall j, 0 <= j < period h -> weight_ok h j = true) /\
  next_weight p1 q1 (weights h (period h - 1)) <= top_weight / 2 /\ 0 <= cap h <= far_cap h /\
  (forall D, 0 <= D <= far_cap h -> quarter_ok h D = true).
Proof.
  unfold weights_ok in W. rewrite !andb_true_iff, Z.ltb_lt, !Z.leb_le in W.
  destruct W as [[[[[A B] C] D] E] F]. repeat split; auto.
  - apply every_spec; exact B.
  - intros x X. apply (every_spec _ _ F). lia.
Qed.

Theorem weights_follow : follows (step_p 1 1) (step_q 1 1) (weights h) (period h).
Proof.
  destruct weights_fact as [P [J [E _]]]. repeat split; auto.
  - specialize (J 0 ltac:(lia)). unfold weight_ok in J. rewrite andb_true_iff in J. destruct J as [_ J].
    simpl in J. now apply Z.eqb_eq in J.
  - intros j j0 jn. specialize (J (j + 1) ltac:(lia)). unfold weight_ok in J. rewrite andb_true_iff in J.
    destruct J as [_ J]. destruct (Z.eqb_spec (j + 1) 0); [lia |]. apply Z.eqb_eq in J.
    replace (j + 1 - 1) with j in J by lia. exact J.
  - intros j jn. specialize (J j jn). unfold weight_ok in J. rewrite andb_true_iff, Z.ltb_lt in J. tauto.
Qed.

(** Two tables that follow a recipe are one. *)
Lemma follows_agree p q s M t N : follows p q s M -> follows p q t N -> forall k : nat, Z.of_nat k < M -> Z.of_nat k < N -> s (Z.of_nat k) = t (Z.of_nat k).
Proof.
  intros [_ [S0 [SS _]]] [_ [T0 [TS _]]] k. induction k as [| k IH]; intros A B; [simpl; congruence |].
  replace (Z.of_nat (S k)) with (Z.of_nat k + 1) in * by lia.
  rewrite SS, TS, IH by lia. reflexivity.
Qed.

Lemma follows_period p q s M t N : follows p q s M -> follows p q t N -> M <= N.
Proof.
  intros F H. destruct (Z_le_gt_dec M N) as [l | g]; auto. exfalso.
  pose proof F as [M0 [_ [SS [_ SB]]]]. pose proof H as [N0 [_ [_ [TE _]]]].
  specialize (SS (N - 1) ltac:(lia) ltac:(lia)). replace (N - 1 + 1) with N in SS by lia.
  specialize (SB N ltac:(lia)).
  pose proof (follows_agree _ _ _ _ _ _ F H (Z.to_nat (N - 1)) ltac:(lia) ltac:(lia)) as e.
  rewrite Z2Nat.id in e by lia. rewrite e in SS. lia.
Qed.

Lemma weights_are_one D : 0 <= D -> weight (weights h) (period h) D = w_one D.
Proof.
  intros H. pose proof weights_follow as F. pose proof one_follows as F1.
  assert (period h = N_one) as e by (apply Z.le_antisymm; eapply follows_period; eauto).
  unfold w_one, weight. rewrite e in *. destruct F as [N0 F']. pose proof (Z.mod_pos_bound D N_one N0) as B.
  pose proof (follows_agree _ _ _ _ _ _ (conj N0 F') F1 (Z.to_nat (D mod N_one)) ltac:(lia) ltac:(lia)) as Q.
  rewrite Z2Nat.id in Q by lia. now rewrite Q.
Qed.

Notation ww := (whole_weight h).

Lemma quarter D : 0 <= D <= far_cap h -> (4 * IZR (ww D) <= w_one D <= 4 * (IZR (ww D) + 1))%R /\ 0 <= ww D.
Proof.
  intros B. destruct weights_fact as [P [_ [_ [_ Q]]]]. specialize (Q D B). apply Z.eqb_eq in Q.
  rewrite <- weights_are_one by lia. unfold weight.
  set (t := weights h (D mod period h)) in *. set (s := D / period h) in *.
  assert (s0 : 0 <= s) by (apply Z.div_pos; lia).
  assert (p0 : 0 < 2 ^ s) by (apply Z.pow_pos_nonneg; lia).
  assert (t0 : 0 <= t).
  { destruct weights_follow as [N0 [_ [_ [_ TB]]]]. specialize (TB (D mod period h) ltac:(apply Z.mod_pos_bound; lia)).
    assert (0 < top_weight / 2) by reflexivity. lia. }
  pose proof (Z.mul_div_le t (4 * 2 ^ s) ltac:(lia)) as L. pose proof (Z.mul_succ_div_gt t (4 * 2 ^ s) ltac:(lia)) as U.
  rewrite <- Q in L, U. split; [| rewrite Q; apply Z.div_pos; lia].
  assert (rp : (0 < IZR (2 ^ s))%R) by now apply (IZR_lt 0).
  apply IZR_le in L. apply Z.lt_le_incl, IZR_le in U. rewrite !mult_IZR in L, U. rewrite succ_IZR in U.
  split; apply (Rmult_le_reg_r (IZR (2 ^ s))); auto;
    replace (IZR t / IZR (2 ^ s) * IZR (2 ^ s))%R with (IZR t) by (field; lra); lra.
Qed.

(** ** The lowered graph *)

Lemma lowered_near u v w : arc lowered_edges u v w -> 0 <= u < n /\ 0 <= v < n /\ In (v, w) (near_low h u).
Proof.
  intros A.
  assert (exists c, arc edges u v c /\ w = lower (slack m) (height m u) (height m v) c) as [c [B ->]].
  { destruct A as [A | A]; apply in_map_iff in A as [[[p q] c] [e I]]; injection e as -> -> <-; exists c;
      (split; [unfold arc; tauto | unfold low; auto using lower_sym]). }
  destruct (arc_range _ _ _ B) as [U V]. repeat split; try lia.
  apply arc_near in B. pose proof (every_spec _ _ Low u U) as L. simpl in L.
  revert L B. generalize (near h u) (near_low h u). induction l as [| [a b] l IH]; intros k L B; [destruct B |].
  destruct k as [| [a' b'] k]; simpl in L; [discriminate |].
  destruct ((a =? a') && (b' =? lower (slack m) (height m u) (height m a) b)) eqn:Q; [| discriminate].
  apply andb_true_iff in Q as [Q1 Q2]. apply Z.eqb_eq in Q1, Q2. subst.
  destruct B as [[= -> ->] | B]; [left; reflexivity | right; apply IH; auto].
Qed.

Lemma near_lowered u v w : 0 <= u < n -> In (v, w) (near_low h u) -> arc lowered_edges u v w.
Proof.
  intros U I. pose proof (every_spec _ _ Low u U) as L. simpl in L.
  assert (exists c, In (v, c) (near h u) /\ w = lower (slack m) (height m u) (height m v) c) as [c [B ->]].
  { revert L I. generalize (near h u) (near_low h u). induction l as [| [a b] l IH]; intros k L I.
    - destruct k; [destruct I | discriminate].
    - destruct k as [| [a' b'] k]; simpl in L; [discriminate |].
      destruct ((a =? a') && (b' =? lower (slack m) (height m u) (height m a) b)) eqn:Q; [| discriminate].
      apply andb_true_iff in Q as [Q1 Q2]. apply Z.eqb_eq in Q1, Q2. subst.
      destruct I as [[= <- <-] | I]; [exists b; simpl; auto |].
      destruct (IH k L I) as [c [C e]]. exists c; simpl; auto. }
  apply near_arc in B; [| exact U]. apply (lowered_arc Z edges (slack m) (height m)) in B. exact B.
Qed.

Lemma low_whole : whole lowered_edges.
Proof. apply lowered_whole, edges_whole. Qed.

(** ** Lists of distances *)

Section Around.

Variable a : around.

Definition right (k : Z) : Prop :=
  let v := place a k in
  0 <= v < n /\ fence m v = 0 /\ rank a v = k /\ 0 <= reach a v <= far_cap h /\
  forall u w, In (u, w) (near_low h v) -> potential h a u <= reach a v + w.

Definition far_item (v : Z) : Z := measure m v * ww (Z.max (reach a v) (cap h)).

Lemma add_far_sound left : forall k sum all s t, 0 <= k -> (forall j, 0 <= j < k -> right j) ->
  sum = zsum far_item (firsts a k) -> all = zsum (measure m) (firsts a k) -> k + Z.of_nat left = count a ->
  add_far m h a left k sum all = Some (s, t) ->
  (forall j, 0 <= j < count a -> right j) /\ s = zsum far_item (firsts a (count a)) /\ t = zsum (measure m) (firsts a (count a)).
Proof.
  induction left as [| left IH]; intros k sum all s t K R Hs Ha E H; simpl in H.
  - injection H as <- <-. replace (count a) with k by lia. auto.
  - match type of H with (if ?b then _ else _) = _ => destruct b eqn:Q; [| discriminate] end.
    rewrite !andb_true_iff, within_spec, !Z.eqb_eq, !Z.leb_le, forallb_forall in Q.
    eapply IH; try exact H; try lia.
    + intros j J. destruct (Z.eq_dec j k) as [-> | N]; [| apply R; lia].
      unfold right. repeat split; try tauto; try lia.
      intros u w I. destruct Q as [_ Q]. specialize (Q _ I). simpl in Q. now apply Z.leb_le in Q.
    + rewrite firsts_S, zsum_app by exact K. simpl. unfold far_item at 2. lia.
    + rewrite firsts_S, zsum_app by exact K. simpl. lia.
Qed.

Hypothesis R : forall j, 0 <= j < count a -> right j.

Lemma potential_le u : potential h a u <= far_cap h.
Proof.
  unfold potential. destruct (member a (count a) u) eqn:Q; [| lia].
  apply member_spec in Q as [B e]. destruct (R _ B) as [_ [_ [_ [L _]]]]. rewrite e in L. lia.
Qed.

Lemma potential_arc u v w : arc lowered_edges u v w -> potential h a v <= potential h a u + w.
Proof.
  intros A. pose proof (arc_whole _ _ low_whole _ _ _ A) as w0.
  destruct (lowered_near _ _ _ A) as [_ [_ I]].
  unfold potential at 2. destruct (member a (count a) u) eqn:Q.
  - apply member_spec in Q as [B e]. destruct (R _ B) as [_ [_ [_ [_ O]]]]. rewrite e in O. now apply O.
  - pose proof (potential_le v). lia.
Qed.

Lemma potential_walk x z L : walk lowered_edges x z L -> potential h a z <= potential h a x + L.
Proof. induction 1 as [| x y z w L A W0 IH]; [lia |]. apply potential_arc in A. lia. Qed.

(** The first of them, and the rest of the map. *)
Section First.

Variable c : Z.
Hypothesis C : 0 <= c <= count a.

Lemma firsts_member v : In v (firsts a c) <-> member a c v = true.
Proof.
  rewrite firsts_in, member_spec. split.
  - intros [j [J <-]]. destruct (R j ltac:(lia)) as [_ [_ [-> _]]]. auto.
  - intros [B e]. eauto.
Qed.

Lemma around_split : exists rest, Permutation places (firsts a c ++ rest) /\
  (forall v, In v rest -> 0 <= v < n /\ member a c v = false) /\
  (forall v, In v (firsts a c) -> 0 <= v < n /\ fence m v = 0 /\ 0 <= reach a v <= far_cap h /\ member a c v = true).
Proof.
  assert (F : forall v, In v (firsts a c) -> 0 <= v < n /\ fence m v = 0 /\ 0 <= reach a v <= far_cap h).
  { intros v I. apply firsts_in in I as [j [J <-]]. destruct (R j ltac:(lia)) as [A [B [_ [D _]]]]. auto. }
  destruct (split_part _ (firsts a c) places) as [rest P].
  - apply firsts_nodup. intros j J. apply (R j ltac:(lia)).
  - intros v I. apply range_in. now apply F.
  - exists rest. split; [exact P |]. split.
    + intros v I. split.
      * apply range_in. eapply Permutation_in; [symmetry; exact P | apply in_or_app; auto].
      * destruct (member a c v) eqn:Q; auto. apply firsts_member in Q. exfalso.
        pose proof (Permutation_NoDup P (range_nodup n)) as ND.
        revert ND Q I. generalize (firsts a c). induction l as [| b l IH]; simpl; intros ND Q I; [tauto |].
        inversion ND; subst. destruct Q as [-> | Q]; [apply H1; apply in_or_app; auto | auto].
    + intros v I. pose proof (F v I). apply firsts_member in I. tauto.
Qed.

End First.

End Around.

(** ** Sums *)

Local Open Scope R_scope.

Notation T := (total Z Z.eq_dec places measure_of w_one lowered_edges).
Notation NN := (N Z Z.eq_dec places measure_of edges (slack m) (height m) (cap h)).
Notation RR := (R_ Z Z.eq_dec places measure_of edges (slack m) (height m) (cap h)).
Notation wc := (ww (cap h)).

Lemma cap_range : (0 <= cap h <= far_cap h)%Z.
Proof. apply weights_fact. Qed.

Lemma measure_in v : (0 <= v < n)%Z -> measure_of v = IZR (measure m v) /\ (0 <= measure m v)%Z.
Proof. intros V. apply place_fact in V. unfold measure_of. rewrite Z.max_r by lia. split; [reflexivity | lia]. Qed.

Lemma split_S x : T x = NN x + RR x.
Proof. apply split_total. Qed.

Lemma near_nonneg x : 0 <= NN x.
Proof.
  apply sum_nonneg. intros z _. unfold near_part. fold lowered_edges.
  destruct (d' x z) as [e |] eqn:H; [| lra]. apply Rmult_le_pos; [apply measure_of_nonneg |].
  pose proof (dist_nonneg _ Z.eq_dec _ low_whole _ _ _ H). pose proof cap_range.
  assert (w_one (cap h) <= w_one (Z.min e (cap h))); [| lra].
  apply (lipschitz_decreasing _ _ w_one_lipschitz). lia.
Qed.

Lemma far_nonneg x : 0 <= RR x.
Proof.
  apply sum_nonneg. intros z _. unfold far_part. destruct (dist _ _ _ _) as [e |]; [| lra].
  apply Rmult_le_pos; [apply measure_of_nonneg |]. left. apply w_one_lipschitz. pose proof cap_range. lia.
Qed.

Section Exact.

Variable a : around.
Hypothesis R : forall j, (0 <= j < count a)%Z -> right a j.
Variable c : Z.
Hypothesis C : (0 <= c <= count a)%Z.
Variable p : patch.
Hypothesis Patch : patch_ok m h a p c = true.
Variables (f : field) (x s b : Z).
Hypothesis X : member a c x = true.

Local Open Scope Z_scope.

Notation away v := (depth f (rank a v)).

(** What is left of a row are arcs of the patch, and every arc of the list that stays in the patch is among them. *)
Lemma row_sound k l : forall low high, row_ok a p c k l low high = true ->
  low <= middle p k /\ high <= first_arc p (k + 1) /\
  (forall u w, In (u, w) l -> member a c u = false -> way_out p k <= w) /\
  (forall u w, In (u, w) l -> member a c u = true -> rank a u < k ->
     exists e, low <= e < middle p k /\ tip p e = rank a u /\ long p e = w) /\
  (forall e, low <= e < middle p k \/ high <= e < first_arc p (k + 1) ->
     exists u, In (u, long p e) l /\ member a c u = true /\ rank a u = tip p e).
Proof.
  induction l as [| [u w] l IH]; intros low high O; simpl in O.
  - apply andb_true_iff in O as [A B]. apply Z.eqb_eq in A, B. subst.
    repeat split; try lia; try (intros ? ? []).
  - destruct (member a c u) eqn:M.
    + assert (one : forall e, is_arc p e (rank a u) w = true -> tip p e = rank a u /\ long p e = w).
      { intros e A. unfold is_arc in A. rewrite andb_true_iff, !Z.eqb_eq in A. tauto. }
      destruct (Z.ltb_spec (rank a u) k) as [l0 | l0].
      * destruct (is_arc p low (rank a u) w) eqn:A; [| discriminate]. apply one in A as [A2 A3].
        destruct (IH _ _ O) as [I1 [I2 [I3 [I4 I5]]]]. repeat split; try lia.
        -- intros u' w' [[= <- <-] | I] N; [congruence | eauto].
        -- intros u' w' [[= <- <-] | I] N L; [exists low; repeat split; auto; lia |].
           destruct (I4 u' w' I N L) as [e [E1 E2]]. exists e. split; [lia | exact E2].
        -- intros e E. destruct (Z.eq_dec e low) as [-> | N]; [exists u; rewrite A3; simpl; auto |].
           destruct (I5 e ltac:(lia)) as [u' [U1 U2]]. exists u'. simpl; auto.
      * destruct (is_arc p high (rank a u) w) eqn:A; [| discriminate]. apply one in A as [A2 A3].
        destruct (IH _ _ O) as [I1 [I2 [I3 [I4 I5]]]]. repeat split; try lia.
        -- intros u' w' [[= <- <-] | I] N; [congruence | eauto].
        -- intros u' w' [[= <- <-] | I] N L; [lia | eauto].
        -- intros e E. destruct (Z.eq_dec e high) as [-> | N]; [exists u; rewrite A3; simpl; auto |].
           destruct (I5 e ltac:(lia)) as [u' [U1 U2]]. exists u'. simpl; auto.
    + destruct (Z.leb_spec (way_out p k) w) as [L | L]; [| discriminate].
      destruct (IH _ _ O) as [I1 [I2 [I3 [I4 I5]]]]. repeat split; try lia.
      * intros u' w' [[= <- <-] | I] N; [exact L | eauto].
      * intros u' w' [[= <- <-] | I] N; [congruence | eauto].
      * intros e E. destruct (I5 e E) as [u' [U1 U2]]. exists u'. simpl; auto.
Qed.

Lemma patch_fact k : 0 <= k < c -> load p k = measure m (place a k) /\
  row_ok a p c k (near_low h (place a k)) (first_arc p k) (middle p k) = true.
Proof.
  intros K. pose proof (every_spec _ _ Patch k K) as Q. simpl in Q. now rewrite andb_true_iff, Z.eqb_eq in Q.
Qed.

Lemma row_fact k : 0 <= k < c -> row_ok a p c k (near_low h (place a k)) (first_arc p k) (middle p k) = true.
Proof. apply patch_fact. Qed.

Lemma place_in k : 0 <= k < c -> 0 <= place a k < n /\ rank a (place a k) = k.
Proof. intros K. destruct (R k ltac:(lia)) as [A [_ [B _]]]. auto. Qed.

(** Every arc of the patch is one of the lowered graph. *)
Lemma patch_arc k e : 0 <= k < c -> first_arc p k <= e < first_arc p (k + 1) ->
  0 <= tip p e < c /\ arc lowered_edges (place a k) (place a (tip p e)) (long p e).
Proof.
  intros K E. destruct (row_sound _ _ _ _ (row_fact k K)) as [_ [_ [_ [_ A]]]].
  destruct (A e ltac:(lia)) as [u [I [M U]]]. apply member_spec in M as [M e'].
  rewrite U in M, e'. split; [lia |]. rewrite e'. apply near_lowered; [now apply place_in | exact I].
Qed.

(** What is certified of each place: how far it is at least, and at most where that is less than [cap]. *)
Definition from_x (u : Z) : Z := if member a c u then away u else cap h.

Definition back (k d0 : Z) : Prop :=
  exists e, first_arc p k <= e < first_arc p (k + 1) /\ depth f (tip p e) + long p e <= d0 /\ earlier f k (tip p e) (long p e) = true.

Lemma leads_back_sound k d0 left : forall e, leads_back p f k d0 left e = true ->
  first_arc p k <= e -> e + Z.of_nat left <= Z.max e (first_arc p (k + 1)) -> back k d0.
Proof.
  induction left as [| left IH]; intros e O L U; simpl in O; [discriminate |].
  destruct ((depth f (tip p e) + long p e <=? d0) && earlier f k (tip p e) (long p e)) eqn:Q.
  - apply andb_true_iff in Q as [Q1 Q2]. apply Z.leb_le in Q1. exists e. split; [lia | auto].
  - apply (IH _ O); lia.
Qed.

Lemma level_sound k d0 left : 0 <= k < c -> forall e found, level_ok p f k d0 left e found = true ->
  first_arc p k <= e -> e + Z.of_nat left = Z.max e (middle p k) ->
  (forall e', e <= e' < middle p k -> depth f (tip p e') <= d0 + long p e' /\ d0 <= depth f (tip p e') + long p e') /\
  (found = true \/ back k d0).
Proof.
  intros K. destruct (row_sound _ _ _ _ (row_fact k K)) as [M1 [M2 _]].
  induction left as [| left IH]; intros e found O L U; simpl in O.
  - split; [intros; lia |]. destruct found; [now left | right].
    apply (leads_back_sound _ _ _ _ O); lia.
  - destruct (Z.leb_spec (depth f (tip p e)) (d0 + long p e)) as [A | A]; [| discriminate].
    destruct (Z.leb_spec d0 (depth f (tip p e) + long p e)) as [B | B]; [| discriminate].
    destruct (IH _ _ O ltac:(lia) ltac:(lia)) as [I F]. split.
    + intros e' E. destruct (Z.eq_dec e' e) as [-> | N]; [auto | apply I; lia].
    + destruct found; [now left |]. destruct F as [F | F]; [| auto]. right.
      destruct (Z.eqb_spec (depth f (tip p e) + long p e) d0) as [q | q]; [| discriminate].
      exists e. split; [lia | split; [lia | exact F]].
Qed.

Definition cleared (k : Z) : Prop :=
  0 <= depth f k <= cap h /\ cap h <= depth f k + way_out p k /\
  (forall e, first_arc p k <= e < middle p k ->
     depth f (tip p e) <= depth f k + long p e /\ depth f k <= depth f (tip p e) + long p e) /\
  (depth f k = cap h \/ (k = rank a x /\ depth f k = 0) \/ back k (depth f k)).

Definition item (v : Z) : Z := if away v =? cap h then 0 else measure m v * ww (away v).
Definition amount (v : Z) : Z := if away v =? cap h then 0 else measure m v.

Lemma depth_sound k : 0 <= k < c -> depth_ok h p f (rank a x) k = true -> cleared k.
Proof.
  intros K O. unfold depth_ok in O. rewrite !andb_true_iff, !Z.leb_le in O. destruct O as [[[Q1 Q2] Q3] Q4].
  destruct (row_sound _ _ _ _ (row_fact k K)) as [M1 _].
  destruct (level_sound k _ _ K _ _ Q4 ltac:(lia) ltac:(lia)) as [V B]. repeat split; auto; try (now apply V).
  rewrite orb_true_iff, andb_true_iff, !Z.eqb_eq in B. tauto.
Qed.

Lemma add_up_spec left : forall k sum all, 0 <= k -> sum = zsum item (firsts a k) -> all = zsum amount (firsts a k) ->
  k + Z.of_nat left = c -> add_up h p f left k sum all = (zsum item (firsts a c), zsum amount (firsts a c)).
Proof.
  induction left as [| left IH]; intros k sum all K Hs Ha E; simpl add_up.
  - replace c with k by lia. congruence.
  - destruct (place_in k ltac:(lia)) as [_ rk]. rewrite (proj1 (patch_fact k ltac:(lia))).
    assert (I : item (place a k) = if depth f k =? cap h then 0 else measure m (place a k) * ww (depth f k))
      by (unfold item; now rewrite rk).
    assert (A : amount (place a k) = if depth f k =? cap h then 0 else measure m (place a k))
      by (unfold amount; now rewrite rk).
    destruct (depth f k =? cap h); apply IH; try lia; rewrite firsts_S, zsum_app by exact K; simpl; lia.
Qed.

Hypothesis H : exact_sum h a p c f x = Some (s, b).

Lemma exact_right : away x = 0 /\ (forall k, 0 <= k < c -> cleared k) /\
  s = zsum item (firsts a c) /\ b = zsum amount (firsts a c).
Proof.
  unfold exact_sum in H. destruct (_ && _) eqn:Q; [| discriminate]. apply andb_true_iff in Q as [Q1 Q2]. apply Z.eqb_eq in Q1.
  rewrite (add_up_spec (Z.to_nat c)) in H; try reflexivity; try lia. injection H as <- <-.
  repeat split; auto; apply depth_sound; auto; now apply (every_spec _ _ Q2).
Qed.

Lemma cleared_member v : member a c v = true -> cleared (rank a v).
Proof. intros M. apply exact_right. now apply member_spec in M. Qed.

Lemma from_x_le v : from_x v <= cap h.
Proof.
  unfold from_x. destruct (member a c v) eqn:M; [| lia]. destruct (cleared_member v M) as [e _]. lia.
Qed.

(** Arcs to lower numbers are checked in both directions. *)
Lemma away_low u v w : member a c u = true -> member a c v = true -> rank a v < rank a u -> In (v, w) (near_low h u) ->
  away v <= away u + w /\ away u <= away v + w.
Proof.
  intros U V L I. pose proof (proj1 (member_spec _ _ _) U) as [Ru Pu].
  pose proof (row_fact _ Ru) as O. rewrite Pu in O.
  destruct (row_sound _ _ _ _ O) as [_ [_ [_ [A _]]]]. destruct (A v w I V L) as [e [E [T1 T2]]].
  destruct (cleared_member u U) as [_ [_ [Q _]]].
  pose proof (Q e E) as B. rewrite T1, T2 in B. exact B.
Qed.

Lemma from_x_arc u v w : arc lowered_edges u v w -> from_x v <= from_x u + w.
Proof.
  intros A. pose proof (arc_whole _ _ low_whole _ _ _ A) as w0. pose proof (from_x_le v) as L.
  destruct (lowered_near _ _ _ A) as [_ [_ I]].
  unfold from_x at 2. destruct (member a c u) eqn:U; [| lia].
  unfold from_x. destruct (member a c v) eqn:V.
  - destruct (Z.lt_total (rank a v) (rank a u)) as [l | [e | l]].
    + now apply (away_low u v w).
    + rewrite e. lia.
    + assert (A' : arc lowered_edges v u w) by (unfold arc in *; tauto).
      destruct (lowered_near _ _ _ A') as [_ [_ I']]. now apply (away_low v u w).
  - pose proof (proj1 (member_spec _ _ _) U) as [Ru Pu].
    pose proof (row_fact _ Ru) as O. rewrite Pu in O.
    destruct (row_sound _ _ _ _ O) as [_ [_ [B _]]]. specialize (B v w I V).
    destruct (cleared_member u U) as [_ [Q _]]. lia.
Qed.

Lemma from_x_walk y z L : walk lowered_edges y z L -> from_x z <= from_x y + L.
Proof. induction 1 as [| y y' z w L A W0 IH]; [lia |]. apply from_x_arc in A. lia. Qed.

Lemma from_x_least z e : d' x z = Some e -> from_x z <= e.
Proof.
  intros q. apply dist_walk in q. apply from_x_walk in q. unfold from_x at 2 in q. rewrite X in q.
  rewrite (proj1 exact_right) in q. lia.
Qed.

(** Whoever is nearer than [cap] has been reached: from a nearer place, or in an earlier turn. *)
Lemma exact_upper D t : forall k, 0 <= k < c -> depth f k < cap h -> depth f k <= Z.of_nat D -> turn f k < Z.of_nat t ->
  exists L, walk lowered_edges x (place a k) L /\ L <= depth f k.
Proof.
  destruct exact_right as [_ [Cl _]].
  assert (S : forall k, 0 <= k < c -> depth f k < cap h -> (place a k = x /\ depth f k = 0) \/
    exists j w, 0 <= j < c /\ arc lowered_edges (place a k) (place a j) w /\ depth f j + w <= depth f k /\
      (0 < w \/ 0 <= turn f j < turn f k)).
  { intros k K L. destruct (Cl k K) as [_ [_ [_ [e | [[e e0] | [e [E [O1 O2]]]]]]]]; [lia | |].
    - left. split; [| exact e0]. rewrite e. now apply member_spec in X.
    - right. destruct (patch_arc k e K E) as [J A]. exists (tip p e), (long p e). split; [exact J | split; [exact A | split; [exact O1 |]]].
      unfold earlier in O2. rewrite orb_true_iff, andb_true_iff, Z.leb_le, !Z.ltb_lt in O2. tauto. }
  assert (go : forall j k w, 0 <= j < c -> arc lowered_edges (place a k) (place a j) w -> depth f j + w <= depth f k ->
    (exists L, walk lowered_edges x (place a j) L /\ L <= depth f j) -> exists L, walk lowered_edges x (place a k) L /\ L <= depth f k).
  { intros j k w J A L [M [WM LM]]. exists (M + w). split; [| lia].
    eapply walk_app; [exact WM |]. apply walk_arc. unfold arc in *; tauto. }
  revert t. induction D as [| D IHD]; induction t as [| t IHt]; intros k K L Dk Tk;
    destruct (S k K L) as [[-> e] | [j [w [J [A [Lj Tj]]]]]]; try (exists 0; rewrite e; split; [constructor | lia]);
    pose proof (arc_whole _ _ low_whole _ _ _ A) as w0; destruct (Cl j J) as [[d0 _] _]; apply (go j k w J A Lj).
  - lia.
  - apply IHt; auto; lia.
  - apply (IHD (Z.to_nat (turn f j + 1))); auto; lia.
  - destruct Tj as [Tj | Tj]; [apply (IHD (Z.to_nat (turn f j + 1))) | apply IHt]; auto; lia.
Qed.

Lemma exact_inside v : member a c v = true -> away v < cap h -> d' x v = Some (away v).
Proof.
  intros M D. pose proof (proj1 (member_spec _ _ _) M) as [Rv Pv].
  destruct (exact_upper (Z.to_nat (cap h)) (Z.to_nat (turn f (rank a v) + 1)) (rank a v) Rv D ltac:(lia) ltac:(lia)) as [L [WL LL]].
  rewrite Pv in WL.
  destruct (dist_least _ Z.eq_dec _ low_whole _ _ _ WL) as [e [q Le]]. rewrite q. f_equal.
  apply from_x_least in q. unfold from_x in q. rewrite M in q. lia.
Qed.

Local Open Scope R_scope.

(** The near part within two sums of whole numbers, and a lower bound of the far part. *)
Theorem exact_sound :
  4 * IZR (s - (wc + 1) * b) <= NN x <= 4 * IZR (s + b - wc * b) /\ 4 * IZR (wc * b) <= RR x.
Proof.
  destruct exact_right as [_ [_ [Hs Hb]]]. pose proof cap_range as CR.
  destruct (around_split a R c C) as [rest [P [O I]]].
  destruct (quarter (cap h) ltac:(lia)) as [[q1' q2'] _].
  set (near_of := fun v => if (away v =? cap h)%Z then 0 else measure_of v * (w_one (away v) - w_one (cap h))).
  set (far_of := fun v => if (away v =? cap h)%Z then 0 else measure_of v * w_one (cap h)).
  assert (D : forall v, In v (firsts a c) -> away v = cap h \/ (0 <= away v < cap h)%Z).
  { intros v J. destruct (I v J) as [_ [_ [_ M]]]. destruct (cleared_member v M) as [e _]. lia. }
  assert (beyond : forall v, from_x v = cap h -> near_part Z Z.eq_dec measure_of edges (slack m) (height m) (cap h) x v = 0).
  { intros v e. unfold near_part. fold lowered_edges. destruct (d' x v) as [q |] eqn:Q; [| reflexivity].
    apply from_x_least in Q. rewrite Z.min_r by lia. ring. }
  assert (near : NN x = sum near_of (firsts a c)).
  { unfold N. rewrite (rsum_permutation _ _ _ P), sum_app.
    rewrite (sum_ext _ _ (fun _ => 0) rest).
    - rewrite (sum_ext _ _ near_of).
      + assert (Z0 : sum (fun _ : Z => 0) rest = 0) by (clear; induction rest; simpl; lra). lra.
      + intros v J. destruct (I v J) as [_ [_ [_ M]]]. unfold near_of.
        destruct (Z.eqb_spec (away v) (cap h)) as [e | N].
        * apply beyond. unfold from_x. now rewrite M.
        * destruct (D v J) as [e | B]; [contradiction |]. unfold near_part. fold lowered_edges.
          rewrite (exact_inside v M), Z.min_l by lia. reflexivity.
    - intros v J. destruct (O v J) as [_ M]. apply beyond. unfold from_x. now rewrite M. }
  assert (far : sum far_of (firsts a c) <= RR x).
  { unfold R_. rewrite (rsum_permutation _ _ _ P), sum_app.
    assert (F0 : forall z, 0 <= far_part Z Z.eq_dec measure_of edges (slack m) (height m) (cap h) x z).
    { intros z. unfold far_part. destruct (dist _ _ _ _) as [e |]; [| lra].
      apply Rmult_le_pos; [apply measure_of_nonneg |]. left. apply w_one_lipschitz. lia. }
    assert (0 <= sum (far_part Z Z.eq_dec measure_of edges (slack m) (height m) (cap h) x) rest) by (apply sum_nonneg; auto).
    assert (sum far_of (firsts a c) <= sum (far_part Z Z.eq_dec measure_of edges (slack m) (height m) (cap h) x) (firsts a c)); [| lra].
    apply sum_le. intros v J. destruct (I v J) as [_ [_ [_ M]]]. unfold far_of.
    destruct (Z.eqb_spec (away v) (cap h)) as [e | N]; [apply F0 |].
    destruct (D v J) as [e | B]; [contradiction |]. unfold far_part. fold lowered_edges.
    rewrite (exact_inside v M), Z.max_r by lia. lra. }
  rewrite near, Hs, Hb. clear near.
  assert (SUMS : forall l, (forall v, In v l -> (0 <= v < n)%Z /\ (away v = cap h \/ (0 <= away v < cap h)%Z)) ->
    4 * (IZR (zsum item l) - (IZR wc + 1) * IZR (zsum amount l)) <= sum near_of l <=
      4 * (IZR (zsum item l) + IZR (zsum amount l) - IZR wc * IZR (zsum amount l)) /\
    4 * (IZR wc * IZR (zsum amount l)) <= sum far_of l).
  { clear - q1' q2' G W CR. induction l as [| v l IH]; intros J; [simpl; lra |].
    specialize (IH (fun u U => J u (or_intror U))). destruct (J v (or_introl eq_refl)) as [V B].
    change (zsum item (v :: l)) with (item v + zsum item l)%Z.
    change (zsum amount (v :: l)) with (amount v + zsum amount l)%Z.
    change (sum ?g (v :: l)) with (g v + sum g l).
    assert (parts : forall q, (away v =? cap h)%Z = q ->
      item v = (if q then 0 else measure m v * ww (away v))%Z /\ amount v = (if q then 0 else measure m v)%Z /\
      near_of v = (if q then 0 else measure_of v * (w_one (away v) - w_one (cap h))) /\
      far_of v = (if q then 0 else measure_of v * w_one (cap h))).
    { intros q <-. repeat split. }
    destruct (parts _ eq_refl) as [-> [-> [-> ->]]]. clear parts.
    destruct (Z.eqb_spec (away v) (cap h)) as [e | N].
    { rewrite !Z.add_0_l, !Rplus_0_l. exact IH. }
    destruct B as [e | B]; [contradiction |].
    destruct (measure_in v V) as [e m0]. destruct (quarter (away v) ltac:(lia)) as [[qa qb] _].
    rewrite !plus_IZR, !mult_IZR, e.
    apply IZR_le in m0.
    set (mu := IZR (measure m v)) in *. set (p := IZR (ww (away v))) in *. set (k := IZR wc) in *.
    assert (mu * (4 * p - 4 * (k + 1)) <= mu * (w_one (away v) - w_one (cap h)) <= mu * (4 * (p + 1) - 4 * k)).
    { split; apply Rmult_le_compat_l; lra. }
    assert (mu * (4 * k) <= mu * w_one (cap h)) by (apply Rmult_le_compat_l; lra).
    lra. }
  destruct (SUMS (firsts a c)) as [S1 S2].
  { intros v J. destruct (I v J) as [V _]. auto. }
  rewrite minus_IZR, minus_IZR, !mult_IZR, !plus_IZR. lra.
Qed.

End Exact.

(** ** The bound of a group *)

Lemma total_below_spec k : forall acc, total_below m k acc = (acc + zsum (fun z => if fence m z =? 0 then measure m z else 0) (List.map Z.of_nat (seq 0 k)))%Z.
Proof.
  induction k as [| k IH]; intros acc; [simpl; lia |].
  rewrite seq_S, map_app, zsum_app. simpl total_below. rewrite IH. simpl. lia.
Qed.

Lemma total_measure_spec : total_measure m = zsum (fun z => if fence m z =? 0 then measure m z else 0)%Z places.
Proof. unfold total_measure. rewrite total_below_spec. reflexivity. Qed.

Theorem far_sound a f : far_bound m h a = Some f -> forall x, fence m x = 0%Z -> member a (count a) x = true -> reach a x = 0%Z ->
  RR x <= 4 * IZR f.
Proof.
  intros Hf x Fx M Rx. unfold far_bound in Hf.
  destruct (add_far m h a (Z.to_nat (count a)) 0 0 0) as [[s t] |] eqn:A; [| discriminate].
  injection Hf as <-.
  pose proof cap_range as CR.
  assert (C0 : (0 <= count a)%Z) by (apply member_spec in M; lia).
  destruct (add_far_sound a (Z.to_nat (count a)) 0 0 0 s t) as [R [Hs Ht]];
    try exact A; try reflexivity; try lia; try (intros j J; lia).
  destruct (around_split a R (count a) ltac:(lia)) as [rest [P [O I]]].
  assert (px : potential h a x = 0%Z) by (unfold potential; rewrite M; exact Rx).
  assert (lower_bound : forall z e, d' x z = Some e -> (potential h a z <= e)%Z).
  { intros z e q. apply dist_walk in q. pose proof (potential_walk a R _ _ _ q). lia. }
  assert (same : forall z e, d' x z = Some e -> fence m z = 0%Z).
  { intros z e q. destruct (Z.eq_dec (fence m x) (fence m z)) as [E | E]; [congruence |].
    rewrite (fence_across Z Z.eq_dec (fence m) lowered_edges x z) in q; [discriminate | | exact E].
    apply lowered_closed, edges_closed. }
  rewrite total_measure_spec.
  rewrite (zsum_permutation _ _ _ P), zsum_app. unfold R_. rewrite (rsum_permutation _ _ _ P), sum_app.
  assert (E1 : zsum (fun z => if fence m z =? 0 then measure m z else 0)%Z (firsts a (count a)) = t).
  { rewrite Ht. apply zsum_ext. intros v J. destruct (I v J) as [_ [-> _]]. reflexivity. }
  rewrite E1.
  assert (B1 : sum (far_part Z Z.eq_dec measure_of edges (slack m) (height m) (cap h) x) (firsts a (count a)) <= 4 * IZR (s + t)).
  { rewrite Hs, Ht. clear - I G W CR lower_bound. revert I. generalize (firsts a (count a)).
    induction l as [| v l IH]; intros I; [simpl; lra |].
    specialize (IH (fun u U => I u (or_intror U))). destruct (I v (or_introl eq_refl)) as [V [_ [B Mv]]].
    destruct (measure_in v V) as [e m0].
    destruct (quarter (Z.max (reach a v) (cap h)) ltac:(lia)) as [[_ qb] w0].
    change (zsum (far_item a) (v :: l)) with (far_item a v + zsum (far_item a) l)%Z.
    change (zsum (measure m) (v :: l)) with (measure m v + zsum (measure m) l)%Z.
    change (sum ?f (v :: l)) with (f v + sum f l). unfold far_item at 1. rewrite !plus_IZR, !mult_IZR. rewrite plus_IZR in IH.
    apply IZR_le in m0. apply IZR_le in w0.
    set (mu := IZR (measure m v)) in *. set (p := IZR (ww (Z.max (reach a v) (cap h)))) in *.
    assert (far_part Z Z.eq_dec measure_of edges (slack m) (height m) (cap h) x v <= mu * (4 * (p + 1))); [| lra].
    unfold far_part. fold lowered_edges. destruct (d' x v) as [q |] eqn:Q.
    - rewrite e. apply Rmult_le_compat_l; [exact m0 |]. apply Rle_trans with (2 := qb).
      apply (lipschitz_decreasing _ _ w_one_lipschitz). apply lower_bound in Q. unfold potential in Q. rewrite Mv in Q. lia.
    - apply Rmult_le_pos; lra. }
  assert (B2 : sum (far_part Z Z.eq_dec measure_of edges (slack m) (height m) (cap h) x) rest <=
    4 * (IZR (zsum (fun z => if fence m z =? 0 then measure m z else 0)%Z rest) * (IZR (ww (far_cap h)) + 1))).
  { clear - O G W CR lower_bound same. revert O. generalize rest. induction rest0 as [| v l IH]; intros O; [simpl; lra |].
    specialize (IH (fun u U => O u (or_intror U))). destruct (O v (or_introl eq_refl)) as [V Mv].
    destruct (measure_in v V) as [e m0]. destruct (quarter (far_cap h) ltac:(lia)) as [[_ qb] w0].
    change (zsum ?f (v :: l)) with (f v + zsum f l)%Z. change (sum ?f (v :: l)) with (f v + sum f l). cbv beta.
    rewrite plus_IZR. apply IZR_le in m0. apply IZR_le in w0.
    assert (far_part Z Z.eq_dec measure_of edges (slack m) (height m) (cap h) x v <=
      4 * (IZR (if fence m v =? 0 then measure m v else 0)%Z * (IZR (ww (far_cap h)) + 1))); [| lra].
    unfold far_part. fold lowered_edges. destruct (d' x v) as [q |] eqn:Q.
    - rewrite (same v q Q). simpl. rewrite e.
      replace (4 * (IZR (measure m v) * (IZR (ww (far_cap h)) + 1))) with (IZR (measure m v) * (4 * (IZR (ww (far_cap h)) + 1))) by ring.
      apply Rmult_le_compat_l; [exact m0 |]. apply Rle_trans with (2 := qb).
      apply (lipschitz_decreasing _ _ w_one_lipschitz). apply lower_bound in Q. unfold potential in Q. rewrite Mv in Q. lia.
    - destruct (fence m v =? 0)%Z; [| lra]. apply Rmult_le_pos; [lra |]. apply Rmult_le_pos; lra. }
  replace (t + zsum (fun z => if fence m z =? 0 then measure m z else 0) rest - t)%Z
    with (zsum (fun z => if fence m z =? 0 then measure m z else 0) rest)%Z by lia.
  rewrite plus_IZR, mult_IZR, (plus_IZR _ 1). lra.
Qed.

Lemma far_right a f : far_bound m h a = Some f -> forall j, (0 <= j < count a)%Z -> right a j.
Proof.
  intros Hf j J. unfold far_bound in Hf.
  destruct (add_far m h a (Z.to_nat (count a)) 0 0 0) as [[s t] |] eqn:A; [| discriminate].
  destruct (add_far_sound a (Z.to_nat (count a)) 0 0 0 s t) as [R _];
    try exact A; try reflexivity; try lia; try (intros i B; lia). now apply R.
Qed.

(** What the map of sums holds of a place. *)
Definition known (x : Z) (r : Z * Z * Z) : Prop :=
  let '(s, b, f) := r in
  4 * IZR (s - (wc + 1) * b) <= NN x <= 4 * IZR (s + b - wc * b) /\ 4 * IZR (wc * b) <= RR x <= 4 * IZR f.

Definition all_known (t : sums) : Prop :=
  forall x r, (0 <= x)%Z -> PositiveMap.find (Z.to_pos (x + 1)) t = Some r -> known x r.

Lemma add_members_sound a p c f fields l : far_bound m h a = Some f -> (0 <= c <= count a)%Z -> patch_ok m h a p c = true ->
  forall t t', all_known t -> add_members m h a p c f fields l t = Some t' -> all_known t'.
Proof.
  intros F C P. induction l as [| x l IH]; intros t t' K A; simpl in A; [injection A as <-; exact K |].
  destruct (within n x && (fence m x =? 0)%Z && member a c x && (reach a x =? 0)%Z) eqn:Q; [| discriminate].
  rewrite !andb_true_iff, within_spec, !Z.eqb_eq in Q. destruct Q as [[[X Fx] M] Rx].
  destruct (exact_sum h a p c (fields x) x) as [[s b] |] eqn:Ex; [| discriminate].
  eapply IH; [| exact A]. intros y r Y Q.
  destruct (Z.eq_dec y x) as [-> | N].
  - rewrite PositiveMap.gss in Q. injection Q as <-. unfold known.
    destruct (exact_sound a (far_right a f F) c C p P (fields x) x s b M Ex) as [E1 E2].
    assert (M' : member a (count a) x = true) by (apply member_spec in M; apply member_spec; split; [lia | tauto]).
    pose proof (far_sound a f F x Fx M' Rx). tauto.
  - rewrite PositiveMap.gso in Q; [now apply K |].
    intros e. apply N. assert (Z.pos (Z.to_pos (y + 1)) = Z.pos (Z.to_pos (x + 1))) as e' by congruence.
    rewrite !Z2Pos.id in e' by lia. lia.
Qed.

Lemma add_groups_sound k : forall t t', all_known t -> add_groups m h k t = Some t' -> all_known t'.
Proof.
  induction k as [| k IH]; intros t t' K A; simpl in A; [injection A as <-; exact K |].
  set (a := group h (Z.of_nat k)) in *. set (c := core h (Z.of_nat k)) in *. set (p := patch_of h (Z.of_nat k)) in *.
  destruct (far_bound m h a) as [f |] eqn:F; [| discriminate].
  destruct ((0 <=? c) && (c <=? count a) && patch_ok m h a p c)%Z eqn:C; [| discriminate].
  rewrite !andb_true_iff, !Z.leb_le in C. destruct C as [C P].
  destruct (add_members m h a p c f (precise h (Z.of_nat k)) (members h (Z.of_nat k)) t) as [t1 |] eqn:M; [| discriminate].
  eapply IH; [| exact A]. eapply add_members_sound; eauto.
Qed.

(** ** e^t from below and from above *)

Lemma one_value : IZR one = 268435456.
Proof. reflexivity. Qed.

Lemma exp_square y : exp y * exp y = exp (2 * y).
Proof. rewrite <- exp_plus. f_equal. ring. Qed.

Lemma square_down_le k : forall b y, (0 <= b)%Z -> IZR b <= IZR one * exp y ->
  (0 <= square_down k b)%Z /\ IZR (square_down k b) <= IZR one * exp (2 ^ k * y).
Proof.
  induction k as [| k IH]; intros b y b0 B; simpl square_down.
  - simpl pow. rewrite Rmult_1_l. auto.
  - replace (2 ^ S k * y) with (2 ^ k * (2 * y)) by (simpl pow; ring). apply IH.
    + apply Z.div_pos; [nia | reflexivity].
    + rewrite <- exp_square. pose proof (Z.mul_div_le (b * b) one ltac:(reflexivity)) as Q. apply IZR_le in Q.
      rewrite !mult_IZR in Q. rewrite one_value in *. apply IZR_le in b0.
      assert (IZR b * IZR b <= (268435456 * exp y) * (268435456 * exp y)) by (apply Rmult_le_compat; lra).
      lra.
Qed.

Lemma square_up_ge k : forall b y, IZR one * exp y <= IZR b -> IZR one * exp (2 ^ k * y) <= IZR (square_up k b).
Proof.
  induction k as [| k IH]; intros b y B; simpl square_up.
  - simpl pow. rewrite Rmult_1_l. auto.
  - replace (2 ^ S k * y) with (2 ^ k * (2 * y)) by (simpl pow; ring). apply IH.
    rewrite <- exp_square. unfold up_div. pose proof (Z.mul_div_le (- (b * b)) one ltac:(reflexivity)) as Q. apply IZR_le in Q.
    rewrite opp_IZR. rewrite mult_IZR, opp_IZR, mult_IZR in Q. rewrite one_value in *.
    pose proof (exp_pos y) as e0.
    assert ((268435456 * exp y) * (268435456 * exp y) <= IZR b * IZR b) by (apply Rmult_le_compat; lra).
    lra.
Qed.

Lemma level_parts t : 2 ^ 8 * (IZR t / 2097152) = level t.
Proof. unfold level. field. Qed.

Theorem exp_down_le t : (0 <= t)%Z -> (0 <= exp_down t)%Z /\ IZR (exp_down t) <= IZR one * exp (level t).
Proof.
  intros t0. unfold exp_down. rewrite <- level_parts. apply square_down_le.
  - assert (0 <= t * t / 2 ^ 15)%Z by (apply Z.div_pos; [nia | reflexivity]).
    assert (0 <= one / part)%Z by (vm_compute; discriminate). assert (0 <= one)%Z by (vm_compute; discriminate). nia.
  - set (y := IZR t / 2097152). apply IZR_le in t0.
    assert (y0 : 0 <= y) by (unfold y; lra).
    assert (1 + y + y * y / 2 <= exp y).
    { destruct y0 as [y0 | <-]; [left; now apply exp_second | rewrite exp_0; lra]. }
    pose proof (Z.mul_div_le (t * t) (2 ^ 15) ltac:(reflexivity)) as Q. apply IZR_le in Q.
    change (one / part)%Z with 128%Z. rewrite !plus_IZR, !mult_IZR. rewrite !mult_IZR in Q. change (IZR (2 ^ 15)) with 32768 in Q.
    rewrite one_value.
    assert (268435456 * (1 + y + y * y / 2) = 268435456 + 128 * IZR t + IZR t * IZR t / 32768) by (unfold y; field).
    lra.
Qed.

Theorem exp_up_ge t : (0 <= t < part)%Z -> IZR one * exp (level t) <= IZR (exp_up t).
Proof.
  intros B. unfold exp_up. rewrite <- level_parts. apply square_up_ge.
  set (y := IZR t / 2097152). pose proof B as [b0 b1]. apply IZR_le in b0. apply IZR_lt in b1. change (IZR part) with 2097152 in b1.
  assert (y1 : y < 1) by (unfold y; lra). assert (y0 : 0 <= y) by (unfold y; lra).
  assert (E : (1 - y) * exp y <= 1).
  { assert (1 - y <= exp (- y)).
    { destruct (Req_dec y 0) as [-> | N]; [rewrite Ropp_0, exp_0; lra |].
      pose proof (exp_ineq1 (- y) ltac:(lra)). lra. }
    assert (U : exp (- y) * exp y = 1) by (rewrite <- exp_plus; replace (- y + y) with 0 by ring; apply exp_0).
    apply Rle_trans with (exp (- y) * exp y); [| lra]. apply Rmult_le_compat_r; [left; apply exp_pos | assumption]. }
  unfold up_div. pose proof (Z.mul_div_le (- (one * part)) (part - t) ltac:(lia)) as Q. apply IZR_le in Q.
  rewrite opp_IZR. rewrite mult_IZR, minus_IZR, opp_IZR, mult_IZR in Q. change (IZR part) with 2097152 in Q.
  rewrite one_value in *. set (q := IZR (- (one * part) / (part - t))) in *.
  assert (S : 2097152 - IZR t = 2097152 * (1 - y)) by (unfold y; field).
  rewrite S in Q. apply (Rmult_le_reg_l (2097152 * (1 - y))); [lra |].
  assert (2097152 * 268435456 * ((1 - y) * exp y) <= 2097152 * 268435456 * 1) by (apply Rmult_le_compat_l; lra).
  lra.
Qed.

(** ** One edge *)

(* Squares of squares: not to be unfolded when terms are compared. *)
#[local] Opaque exp_down exp_up.

Theorem ratio_sound x y sx sy w low : known x sx -> known y sy -> (0 <= low <= w)%Z ->
  RR x <= exp (level low) * RR y -> ratio_ok h sx sy w low = true -> T x <= exp (level (w - low)) * T y.
Proof.
  intros Kx Ky L E H. destruct sx as [[ax bx] fx], sy as [[ay by_] fy]. unfold known in *.
  destruct Kx as [[_ X] [_ Px]]. destruct Ky as [[Y _] [Q1 Q2]]. unfold ratio_ok in H. rewrite !split_S.
  pose proof (near_nonneg x) as X0. pose proof (near_nonneg y) as Y0.
  pose proof (far_nonneg x) as P0. pose proof (far_nonneg y) as Q0.
  set (top_x := (ax + bx - wc * bx)%Z) in *. set (low_y := (ay - (wc + 1) * by_)%Z) in *.
  set (lo := (wc * by_)%Z) in *.
  assert (tx0 : (0 <= top_x)%Z) by (apply le_IZR; lra).
  set (unit := (1 + Z.max top_x low_y / 2 ^ 29)%Z) in *.
  assert (u0 : (0 < unit)%Z) by (assert (0 <= Z.max top_x low_y / 2 ^ 29)%Z by (apply Z.div_pos; [lia | reflexivity]); lia).
  pose proof (Z.mul_succ_div_gt top_x unit u0) as A1. pose proof (Z.mul_div_le low_y unit u0) as A2.
  pose proof (Z.mul_div_le lo unit u0) as A3. pose proof (Z.mul_succ_div_gt fy unit u0) as A4.
  pose proof (Z.mul_succ_div_gt fx unit u0) as A5.
  apply Z.lt_le_incl, IZR_le in A1, A4, A5. apply IZR_le in A2, A3.
  rewrite mult_IZR, succ_IZR in A1, A4, A5. rewrite mult_IZR in A2, A3.
  set (nx := (top_x / unit)%Z) in *. set (ny := (low_y / unit)%Z) in *. set (from := (lo / unit)%Z) in *.
  set (to := (fy / unit)%Z) in *. set (far_x := (fx / unit)%Z) in *.
  assert (t0 : (0 <= Z.min (w - low) longest)%Z) by (assert (0 <= longest)%Z by (vm_compute; discriminate); lia).
  destruct (exp_down_le _ t0) as [mo0 MO].
  assert (MO' : IZR (exp_down (Z.min (w - low) longest)) <= IZR one * exp (level (w - low))).
  { apply Rle_trans with (1 := MO). apply Rmult_le_compat_l; [rewrite one_value; lra |]. apply exp_le, level_le. lia. }
  set (mo := exp_down (Z.min (w - low) longest)) in *. clearbody mo. clear MO.
  apply IZR_le in mo0. apply IZR_lt in u0.
  set (M := exp (level (w - low))) in *. assert (M0 : 0 < M) by apply exp_pos. clearbody M.
  set (U := IZR unit) in *. clearbody U. rewrite one_value in *.
  (* what the checker compared, times 4 U / 2^28, is between the true sums *)
  assert (last : forall rho, 0 <= NN y + 4 * U * rho -> NN x + RR x <= 4 * U / 268435456 * (IZR mo * (IZR ny + rho)) ->
    4 * U * rho <= RR y -> NN x + RR x <= M * (NN y + RR y)).
  { intros rho S0 C D.
    assert (4 * U / 268435456 * (IZR mo * (IZR ny + rho)) <= IZR mo / 268435456 * (NN y + 4 * U * rho)).
    { replace (4 * U / 268435456 * (IZR mo * (IZR ny + rho))) with (IZR mo / 268435456 * (4 * (U * IZR ny) + 4 * U * rho)) by field.
      apply Rmult_le_compat_l; lra. }
    assert (IZR mo / 268435456 * (NN y + 4 * U * rho) <= M * (NN y + 4 * U * rho)) by (apply Rmult_le_compat_r; lra).
    assert (M * (NN y + 4 * U * rho) <= M * (NN y + RR y)) by (apply Rmult_le_compat_l; lra).
    lra. }
  destruct (Z.leb_spec low longest) as [l | l].
  - apply andb_true_iff in H as [H1 H2]. apply Z.leb_le, IZR_le in H1, H2.
    rewrite !plus_IZR, !mult_IZR, !plus_IZR, one_value in H1, H2. rewrite ?plus_IZR in H2.
    pose proof (exp_up_ge low ltac:(split; [lia | apply Z.le_lt_trans with (1 := l); reflexivity])) as F.
    set (fa := IZR (exp_up low)) in *. clearbody fa. set (e := exp (level low)) in *. clearbody e. rewrite one_value in F.
    set (rho := RR y / (4 * U)).
    assert (Hr : 4 * U * rho = RR y) by (unfold rho; field; lra).
    assert (R1 : IZR from <= rho) by (apply (Rmult_le_reg_l (4 * U)); lra).
    assert (R2 : rho <= IZR to + 1) by (apply (Rmult_le_reg_l (4 * U)); lra).
    assert (R0 : 0 <= rho) by (apply (Rmult_le_reg_l (4 * U)); lra).
    assert (line : (IZR nx + 1) * 268435456 + fa * rho <= IZR mo * (IZR ny + rho)).
    { destruct (Rle_or_lt 0 (fa - IZR mo)) as [g | g].
      - assert ((fa - IZR mo) * rho <= (fa - IZR mo) * (IZR to + 1)) by (apply Rmult_le_compat_l; lra). lra.
      - assert ((IZR mo - fa) * IZR from <= (IZR mo - fa) * rho) by (apply Rmult_le_compat_l; lra). lra. }
    apply (last rho); [lra | | lra].
    assert (268435456 * e * rho <= fa * rho) by (apply Rmult_le_compat_r; lra).
    assert (NN x + RR x <= 4 * U / 268435456 * ((IZR nx + 1) * 268435456 + fa * rho)).
    { replace (4 * U / 268435456 * ((IZR nx + 1) * 268435456 + fa * rho))
        with (4 * (U * (IZR nx + 1)) + 4 * U / 268435456 * (fa * rho)) by field.
      assert (4 * U / 268435456 * (268435456 * e * rho) <= 4 * U / 268435456 * (fa * rho)) by (apply Rmult_le_compat_l; lra).
      replace (4 * U / 268435456 * (268435456 * e * rho)) with (e * RR y) in * by (rewrite <- Hr; field). lra. }
    assert (4 * U / 268435456 * ((IZR nx + 1) * 268435456 + fa * rho) <= 4 * U / 268435456 * (IZR mo * (IZR ny + rho)))
      by (apply Rmult_le_compat_l; lra).
    lra.
  - apply Z.leb_le, IZR_le in H. rewrite !mult_IZR, !plus_IZR, one_value in H. rewrite ?plus_IZR in H.
    apply (last (Rmax 0 (IZR from))).
    + pose proof (Rmax_l 0 (IZR from)). assert (0 <= 4 * U * Rmax 0 (IZR from)) by (apply Rmult_le_pos; lra). lra.
    + pose proof (Rmax_r 0 (IZR from)).
      assert (IZR mo * (IZR ny + IZR from) <= IZR mo * (IZR ny + Rmax 0 (IZR from))) by (apply Rmult_le_compat_l; lra).
      assert (4 * U / 268435456 * ((IZR nx + 1 + IZR far_x + 1) * 268435456) <= 4 * U / 268435456 * (IZR mo * (IZR ny + Rmax 0 (IZR from))))
        by (apply Rmult_le_compat_l; lra).
      replace (4 * U / 268435456 * ((IZR nx + 1 + IZR far_x + 1) * 268435456))
        with (4 * (U * (IZR nx + 1)) + 4 * (U * (IZR far_x + 1))) in * by field.
      lra.
    + unfold Rmax. destruct (Rle_dec 0 (IZR from)); lra.
Qed.

(** *** The inequality holds on every edge *)
Theorem edges_sound t : all_known t -> every (edge_count m) (edge_holds_ok m h t) = true ->
  forall u v w, In (u, v, w) edges -> fence m u = 0%Z -> (0 < w)%Z ->
  edge_holds Z Z.eq_dec places measure_of edges (slack m) (height m) u v w.
Proof.
  intros K H u v w I Fu w0. pose proof I as J. apply edges_in in J as [k [B e]].
  pose proof (every_spec _ _ H k B) as Q. unfold edge_holds_ok in Q. rewrite e, Fu in Q.
  rewrite (proj2 (Z.ltb_lt 0 w) w0) in Q. simpl in Q.
  destruct (PositiveMap.find (Z.to_pos (u + 1)) t) as [su |] eqn:Su; [| discriminate].
  destruct (PositiveMap.find (Z.to_pos (v + 1)) t) as [sv |] eqn:Sv; [| discriminate].
  apply andb_true_iff in Q as [Q1 Q2].
  destruct (edge_fact _ _ _ I) as [U [V _]].
  apply K in Su; [| lia]. apply K in Sv; [| lia].
  pose proof (lower_le (slack m) (height m u) (height m v) w ltac:(lia)) as L.
  assert (A : arc edges u v w) by now left. assert (A' : arc edges v u w) by now right.
  pose proof (far_step Z Z.eq_dec places measure_of measure_of_nonneg edges edges_whole (slack m) (height m) (cap h) (proj1 cap_range) _ _ _ A) as F1.
  pose proof (far_step Z Z.eq_dec places measure_of measure_of_nonneg edges edges_whole (slack m) (height m) (cap h) (proj1 cap_range) _ _ _ A') as F2.
  assert (S : low Z (slack m) (height m) v u w = lower (slack m) (height m u) (height m v) w) by (unfold low; apply lower_sym).
  rewrite S in F2. unfold low in F1.
  pose proof (ratio_sound _ _ _ _ _ _ Su Sv L F1 Q1) as R1. pose proof (ratio_sound _ _ _ _ _ _ Sv Su L F2 Q2) as R2.
  unfold edge_holds, low. fold lowered_edges. set (l := lower (slack m) (height m u) (height m v) w) in *.
  assert (P : exp (level w) = exp (level l) * exp (level (w - l))).
  { rewrite <- exp_plus, <- level_plus. do 2 f_equal. lia. }
  rewrite P, !Rmult_assoc. split; apply Rmult_le_compat_l; auto; left; apply exp_pos.
Qed.

End Relief_checked.

End Graph_checked.

(** ** What yes means *)

Local Open Scope R_scope.

(** The mechanism of the file: exponent 1 over the lowered graph if it is sharpened, else exponent 1/2; even inside
    fences, by any areas. *)
Definition reports (area : Z -> R) : Z -> Z -> R :=
  fenced Z places (fence m) area
    (if sharp m then mechanism Z Z.eq_dec places measure_of w_one lowered_edges
     else mechanism Z Z.eq_dec places measure_of w_half edges).

Theorem checker_sound : check m h = true ->
  (* distances are those of a graph with whole weights; fences are closed, and all of one fence is at distance 0 *)
  (whole edges /\ closed Z (fence m) edges /\
   forall u v, (0 <= u < n)%Z -> (0 <= v < n)%Z -> fence m u = fence m v -> (0 < fence m u)%Z -> d u v = Some 0%Z) /\
  (* every secret outside fences has the crowd that is required, at every whole level *)
  (forall x, (0 <= x < n)%Z -> secret m x = true -> fence m x = 0%Z ->
     holds Z Z.eq_dec places mass_of (required m) (top m) edges x) /\
  (* and reports are private for the metric *)
  (forall area, (forall z, 0 <= area z) -> private Z places d (reports area)).
Proof.
  intros C. unfold check in C. rewrite !andb_true_iff in C. destruct C as [[G Q] L].
  split; [| split].
  - split; [now apply edges_whole | split; [now apply edges_closed | now apply tied_inside]].
  - now apply requirement_sound.
  - intros area A. unfold reports. unfold relief_ok in L. destruct (sharp m) eqn:S.
    + rewrite !andb_true_iff in L. destruct L as [[Wt Lo] E].
      destruct (add_groups m h (Z.to_nat (group_count h)) (PositiveMap.empty _)) as [t |] eqn:AG; [| discriminate].
      apply relief_fenced_private; auto using measure_of_nonneg, edges_whole, edges_closed.
      eapply edges_sound; eauto.
      eapply add_groups_sound; eauto. intros x r X F. rewrite PositiveMap.gempty in F. discriminate.
    + apply half_fenced_private; auto using measure_of_nonneg, edges_whole, edges_closed.
Qed.

(** With real masses and a real requirement: at every real level. *)
Corollary checker_every_level (real_mass : Z -> R) (req : R -> R) (l_from l_top : R) :
  check m h = true ->
  (forall z, IZR (mass_of z) / 2 ^ 32 <= real_mass z) -> 0 <= l_from ->
  level (top m) <= l_top < level (top m + 1) ->
  (forall D l, (0 <= D <= top m)%Z -> level D <= l < level (D + 1) -> l_from <= l <= l_top -> req l * 2 ^ 32 <= IZR (required m D)) ->
  forall x, (0 <= x < n)%Z -> secret m x = true -> fence m x = 0%Z ->
  forall l, l_from <= l <= l_top -> req l <= ball_at Z Z.eq_dec places real_mass edges x l.
Proof.
  intros C M F Tp Cov x X Sx Fx. destruct (checker_sound C) as [_ [H _]].
  eapply (every_level Z Z.eq_dec places mass_of mass_of_nonneg); eauto.
Qed.

End Soundness.
