(* SPDX-License-Identifier: Apache-2.0 *)
(** The line and its darts: the lazy sampler with refining bits, as counts of equally likely strings of bits.

    All reports are laid end to end, each as long as its measure times its weight. A dart is a whole number below a
    bound; further bits make its ruler finer. Code: [mechanism/sampler.py] ([Line.throw], [Line._lengths]). *)

From Coq Require Import Reals ZArith List Lra Lia Bool Permutation.
From Geoelastic Require Import Graph Sums Weights Mechanism Requirement.
Import ListNotations.
Local Open Scope Z_scope.

Definition length_of (l : list Z) : Z := zsum (fun a => a) l.

(** Which stretch a dart falls on. *)
Fixpoint hit (l : list Z) (dart : Z) : option nat :=
  match l with
  | [] => None
  | a :: l' => if dart <? a then Some O else option_map S (hit l' (dart - a))
  end.

Definition stretches (l : list Z) : Prop := Forall (fun a => 0 <= a) l.

Lemma length_nonneg l : stretches l -> 0 <= length_of l.
Proof. unfold length_of. induction 1; simpl; lia. Qed.

Lemma hit_beyond l : stretches l -> forall dart, length_of l <= dart -> hit l dart = None.
Proof.
  unfold length_of. induction 1 as [| a l a0 P IH]; simpl; intros dart H; auto.
  pose proof (length_nonneg l P) as N. unfold length_of in N.
  destruct (Z.ltb_spec dart a); [lia |]. rewrite IH by lia. reflexivity.
Qed.

Lemma hit_app l r dart : stretches l -> 0 <= dart < length_of l -> hit (l ++ r) dart = hit l dart.
Proof.
  unfold length_of. intros P; revert dart. induction P as [| a l a0 P IH]; simpl; intros dart H; [lia |].
  destruct (Z.ltb_spec dart a); auto. rewrite IH by lia. reflexivity.
Qed.

(** A ruler that is [f] times as coarse. *)
Lemma hit_scale f l dart : 0 < f -> 0 <= dart -> stretches l -> hit (map (Z.mul f) l) dart = hit l (dart / f).
Proof.
  intros F D P. revert dart D. induction P as [| a l a0 P IH]; simpl; intros dart D; auto.
  destruct (Z.ltb_spec dart (f * a)) as [L | L], (Z.ltb_spec (dart / f) a) as [M | M]; auto.
  - exfalso. apply Z.div_lt_upper_bound in L; lia.
  - exfalso. apply (Z.div_le_lower_bound dart f a) in L; lia.
  - rewrite IH by lia. f_equal. f_equal. replace (dart - f * a) with (dart + - a * f) by ring.
    rewrite Z.div_add by lia. lia.
Qed.

Lemma length_scale f l : length_of (map (Z.mul f) l) = f * length_of l.
Proof. unfold length_of. induction l as [| a l IH]; simpl; [ring | rewrite IH; ring]. Qed.

Lemma length_app l r : length_of (l ++ r) = length_of l + length_of r.
Proof. unfold length_of. induction l as [| a l IH]; simpl; [ring | rewrite IH; ring]. Qed.

(** ** The lazy sampler *)

(** One frontier: the stretches that are settled, in units [factor] times the finest; a bound of the whole line. *)
Record stage := { known : list Z; bound : Z; factor : Z }.

(** The dart at a stage is the finest dart with the bits left out that have not been drawn yet. *)
Fixpoint lazy (run : list stage) (dart : Z) : option nat :=
  match run with
  | [] => None
  | s :: run' =>
      let now := dart / factor s in
      if now <? length_of (known s) then hit (known s) now
      else if bound s <=? now then None
      else lazy run' dart
  end.

(** What is settled is the beginning of the line, exactly; the bound is one. *)
Definition sound_stage (line : list Z) (s : stage) : Prop :=
  0 < factor s /\ stretches (known s) /\ (exists rest, line = map (Z.mul (factor s)) (known s) ++ rest) /\
  length_of line <= bound s * factor s.

(** At the last frontier nothing is left. *)
Inductive sound_run (line : list Z) : list stage -> Prop :=
| last_stage s : sound_stage line s -> length_of line = factor s * length_of (known s) -> sound_run line [s]
| next_stage s run : sound_stage line s -> sound_run line run -> sound_run line (s :: run).

Theorem lazy_is_full line run dart : stretches line -> sound_run line run -> 0 <= dart -> lazy run dart = hit line dart.
Proof.
  intros P R D. induction R as [s [F [K [[rest ->] B]]] L | s run [F [K [[rest e] B]]] R IH].
  - simpl. destruct (Z.ltb_spec (dart / factor s) (length_of (known s))) as [I | I].
    + rewrite hit_app.
      * now rewrite hit_scale.
      * apply Forall_app in P. tauto.
      * split; auto. rewrite length_scale. pose proof (Z.mul_succ_div_gt dart (factor s) F). nia.
    + rewrite hit_beyond; auto.
      * destruct (bound s <=? dart / factor s); reflexivity.
      * rewrite L. pose proof (Z.mul_div_le dart (factor s) F). nia.
  - simpl. destruct (Z.ltb_spec (dart / factor s) (length_of (known s))) as [I | I].
    + subst line. rewrite hit_app.
      * now rewrite hit_scale.
      * apply Forall_app in P. tauto.
      * split; auto. rewrite length_scale. pose proof (Z.mul_succ_div_gt dart (factor s) F). nia.
    + destruct (Z.leb_spec (bound s) (dart / factor s)) as [M | M]; auto.
      rewrite hit_beyond; auto. pose proof (Z.mul_div_le dart (factor s) F). nia.
Qed.

(** Drawing further bits is refining: with [dart] below U and [bits] below 2^K, the finest dart is dart 2^K + bits, each
    number below U 2^K exactly once; with k of the K bits drawn the sampler holds dart 2^k + (the first k bits). *)
Theorem refine dart bits k K : 0 <= k <= K -> 0 <= bits < 2 ^ K ->
  (dart * 2 ^ K + bits) / 2 ^ (K - k) = dart * 2 ^ k + bits / 2 ^ (K - k).
Proof.
  intros H B. replace (2 ^ K) with (2 ^ k * 2 ^ (K - k)) by (rewrite <- Z.pow_add_r by lia; f_equal; lia).
  rewrite Z.mul_assoc, Z.add_comm, Z.div_add; [ring |]. apply Z.pow_nonzero; lia.
Qed.

Theorem refine_once U K dart : 0 <= K -> 0 <= dart < U * 2 ^ K ->
  exists! ab, 0 <= fst ab < U /\ 0 <= snd ab < 2 ^ K /\ dart = fst ab * 2 ^ K + snd ab.
Proof.
  intros H B. pose proof (Z.pow_pos_nonneg 2 K ltac:(lia) H) as P.
  exists (dart / 2 ^ K, dart mod 2 ^ K). split; simpl.
  - pose proof (Z.mod_pos_bound dart (2 ^ K) P). pose proof (Z.div_mod dart (2 ^ K) ltac:(lia)).
    repeat split; try lia; [apply Z.div_pos; lia |]. apply Z.div_lt_upper_bound; lia.
  - intros [a b] [A [C e]]; simpl in *. f_equal.
    + symmetry. apply (Z.div_unique _ _ _ b); lia.
    + symmetry. apply (Z.mod_unique _ _ a); lia.
Qed.

(** ** Counting *)

Definition count (U : nat) (f : Z -> bool) : Z := Z.of_nat (length (filter f (map Z.of_nat (seq 0 U)))).

Lemma count_S U f : count (S U) f = count U f + (if f (Z.of_nat U) then 1 else 0).
Proof.
  unfold count. rewrite seq_S, map_app, filter_app, app_length. simpl. destruct (f (Z.of_nat U)); simpl; lia.
Qed.

Lemma count_interval U f a b : 0 <= a -> (forall k, 0 <= k -> f k = true <-> a <= k < b) ->
  count U f = Z.max 0 (Z.min b (Z.of_nat U) - a).
Proof.
  intros A F. induction U as [| U IH].
  - unfold count. simpl. lia.
  - rewrite count_S, IH. specialize (F (Z.of_nat U) ltac:(lia)).
    destruct (f (Z.of_nat U)); [assert (a <= Z.of_nat U < b) by tauto | assert (~ (a <= Z.of_nat U < b)) by (intros K; apply F in K; discriminate)]; lia.
Qed.

Definition is_hit (l : list Z) (i : nat) (dart : Z) : bool :=
  match hit l dart with Some j => Nat.eqb j i | None => false end.

Lemma is_hit_interval l : stretches l -> forall i dart, 0 <= dart ->
  (is_hit l i dart = true <-> length_of (firstn i l) <= dart < length_of (firstn i l) + nth i l 0).
Proof.
  unfold length_of, is_hit. induction 1 as [| a l a0 P IH]; intros i dart D.
  - simpl. split; [discriminate |]. rewrite firstn_nil. destruct i; simpl; lia.
  - simpl hit. destruct (Z.ltb_spec dart a) as [L | L].
    + destruct i as [| i]; simpl; [split; [lia | auto] |].
      split; [discriminate |]. pose proof (length_nonneg (firstn i l)) as N. unfold length_of in N.
      assert (stretches (firstn i l)).
      { apply Forall_forall. intros y Y. rewrite Forall_forall in P. apply P.
        rewrite <- (firstn_skipn i l). apply in_or_app; auto. }
      specialize (N H). lia.
    + destruct i as [| i]; simpl.
      * split; [| lia]. destruct (hit l (dart - a)); simpl; discriminate.
      * specialize (IH i (dart - a) ltac:(lia)). destruct (hit l (dart - a)); simpl in *.
        -- rewrite IH. lia.
        -- rewrite IH. lia.
Qed.

Lemma length_firstn l i : stretches l -> 0 <= length_of (firstn i l) /\ length_of (firstn i l) + nth i l 0 <= length_of l.
Proof.
  intros P. revert i. induction P as [| a l a0 P IH]; intros [| i]; unfold length_of in *; simpl; try lia.
  - pose proof (length_nonneg l P) as N. unfold length_of in N. lia.
  - specialize (IH i). lia.
Qed.

Lemma nth_stretch l i : stretches l -> 0 <= nth i l 0.
Proof. intros P. revert i. induction P; intros [| i]; simpl; auto; lia. Qed.

(** *** Of all equally likely darts below U, exactly [nth i line] report i *)
Theorem lazy_exact line run U i : stretches line -> sound_run line run -> length_of line <= Z.of_nat U ->
  count U (fun dart => match lazy run dart with Some j => Nat.eqb j i | None => false end) = nth i line 0.
Proof.
  intros P R L. destruct (length_firstn line i P) as [A B]. pose proof (nth_stretch line i P) as C.
  rewrite (count_interval _ _ (length_of (firstn i line)) (length_of (firstn i line) + nth i line 0)); [lia | lia |].
  intros k K. rewrite (lazy_is_full line run k P R K). now apply is_hit_interval.
Qed.

(** And all of the line's length reports something: the rest is thrown again. *)
Theorem lazy_hits line run U : stretches line -> sound_run line run -> length_of line <= Z.of_nat U ->
  count U (fun dart => match lazy run dart with Some _ => true | None => false end) = length_of line.
Proof.
  intros P R L. pose proof (length_nonneg line P) as N.
  rewrite (count_interval _ _ 0 (length_of line)); [lia | lia |].
  intros k K. rewrite (lazy_is_full line run k P R K). split.
  - intros H. split; auto. destruct (Z_lt_ge_dec k (length_of line)); auto.
    rewrite hit_beyond in H by (auto; lia). discriminate.
  - intros [_ H]. clear - P K H. revert k K H. induction P as [| a l a0 P IH]; unfold length_of in *; simpl; intros k K H; [lia |].
    destruct (Z.ltb_spec k a); auto. specialize (IH (k - a) ltac:(lia) ltac:(lia)).
    destruct (hit l (k - a)); auto.
Qed.

(** ** The stretches of a mechanism *)

Section Line.

Variable V : Type.
Variable eq_dec : forall u v : V, {u = v} + {u <> v}.
Variable E : list (V * V * Z).
Hypothesis E_whole : whole E.
Variable measure : V -> Z.
Hypothesis measure_nonneg : forall z, 0 <= measure z.

Variables (t : Z -> Z) (N shells : Z).
Hypothesis N_pos : 0 < N.
Hypothesis t_nonneg : forall j, 0 <= t j.

(** measure x t[d mod N] in units of 2^-shells: whole if the finest shell is at least that of d. *)
Definition stretch (x z : V) : Z :=
  match dist eq_dec E x z with Some d => measure z * t (d mod N) * 2 ^ (shells - d / N) | None => 0 end.

(** The order of the line, and a finest ruler fine enough for all that can be reached. *)
Variables (x : V) (places order : list V).
Hypothesis order_all : Permutation order places.
Hypothesis fine : forall z d, In z places -> dist eq_dec E x z = Some d -> d / N <= shells.

Definition line : list Z := map (stretch x) order.

Lemma line_stretches : stretches line.
Proof.
  apply Forall_forall. intros a H. apply in_map_iff in H as [z [<- _]]. unfold stretch.
  destruct (dist eq_dec E x z) as [d |]; [| lia].
  apply Z.mul_nonneg_nonneg; [apply Z.mul_nonneg_nonneg; auto | apply Z.pow_nonneg; lia].
Qed.

Local Open Scope R_scope.

Lemma stretch_weight z : In z places ->
  IZR (stretch x z) = IZR (2 ^ shells) * numerator V eq_dec (fun z => IZR (measure z)) (weight t N) E x z.
Proof.
  intros I. unfold stretch, numerator. destruct (dist eq_dec E x z) as [d |] eqn:H; simpl; [| ring].
  pose proof (fine z d I H) as F. pose proof (dist_nonneg _ eq_dec E E_whole _ _ _ H) as d0.
  assert (s0 : (0 <= d / N)%Z) by (apply Z.div_pos; lia).
  unfold weight. rewrite !mult_IZR.
  replace (2 ^ shells)%Z with (2 ^ (shells - d / N) * 2 ^ (d / N))%Z by (rewrite <- Z.pow_add_r by lia; f_equal; lia).
  rewrite mult_IZR. field. apply not_0_IZR. apply Z.pow_nonzero; lia.
Qed.

Lemma sum_permutation (f : V -> R) l m : Permutation l m -> sum f l = sum f m.
Proof. induction 1; simpl; lra. Qed.

Lemma line_total : IZR (length_of line) = IZR (2 ^ shells) * total V eq_dec places (fun z => IZR (measure z)) (weight t N) E x.
Proof.
  unfold length_of, line, total. rewrite zsum_sum.
  rewrite <- (sum_permutation _ _ _ order_all), <- sum_scale.
  assert (G : forall l, (forall z, In z l -> In z places) ->
    sum (fun a => IZR a) (map (stretch x) l) =
    sum (fun z => IZR (2 ^ shells) * numerator V eq_dec (fun z => IZR (measure z)) (weight t N) E x z) l).
  { induction l as [| z l IH]; simpl; intros H; auto. rewrite IH by auto. rewrite stretch_weight by auto. reflexivity. }
  apply G. intros z I. eapply Permutation_in; eauto.
Qed.

(** *** The sampler reports the i-th place of the line with probability exactly mu(z) w(d(x, z)) / S(x), given a hit *)
Theorem sampler_exact run U i z :
  sound_run line run -> (length_of line <= Z.of_nat U)%Z -> nth_error order i = Some z -> (0 <= shells)%Z ->
  IZR (count U (fun dart => match lazy run dart with Some j => Nat.eqb j i | None => false end)) /
  IZR (count U (fun dart => match lazy run dart with Some _ => true | None => false end)) =
  mechanism V eq_dec places (fun z => IZR (measure z)) (weight t N) E x z.
Proof.
  intros R L O S0. rewrite (lazy_exact line run U i line_stretches R L), (lazy_hits line run U line_stretches R L), line_total.
  assert (I : In z places) by (eapply Permutation_in; eauto; eapply nth_error_In; eauto).
  replace (nth i line 0%Z) with (stretch x z).
  - rewrite stretch_weight by exact I. unfold mechanism, share, total.
    set (c := IZR (2 ^ shells)). assert (c <> 0) by (apply not_0_IZR, Z.pow_nonzero; lia).
    set (S := sum _ _). destruct (Req_dec S 0) as [e | n]; [| field; split; assumption].
    rewrite e, Rmult_0_r. unfold Rdiv. rewrite Rinv_0. ring.
  - unfold line. symmetry. apply nth_error_nth. now apply map_nth_error.
Qed.

End Line.

(** The two tables that reports use. *)
Lemma at_nonneg fuel a b j : 0 <= at_ (table fuel a b) j.
Proof.
  unfold at_. set (l := table fuel a b).
  destruct (nth_in_or_default (Z.to_nat j) l 0) as [I | ->]; [| lia].
  destruct (recipe_follows (step_p a b) (step_q a b) fuel top_weight) as [_ [_ C]].
  fold (table fuel a b) in C. fold l in C. rewrite Forall_forall in C. apply C in I.
  assert (0 < top_weight / 2) by reflexivity. lia.
Qed.

Definition sampler_half_exact V eq_dec E W measure M shells :=
  sampler_exact V eq_dec E W measure M t_half N_half shells (proj1 half_follows) (at_nonneg fuel 1 2).
Definition sampler_one_exact V eq_dec E W measure M shells :=
  sampler_exact V eq_dec E W measure M t_one N_one shells (proj1 one_follows) (at_nonneg fuel 1 1).
