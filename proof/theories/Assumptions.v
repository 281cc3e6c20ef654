(* SPDX-License-Identifier: Apache-2.0 *)
(** What each main theorem rests on. `./run proof` prints this and accepts the axioms of the real numbers only. *)

From Geoelastic Require Import Graph Sums Weights Mechanism Relief Requirement Sampler Trace Rounding Checker Soundness Recipe.

Print Assumptions dist_sym.
Print Assumptions dist_triangle.
Print Assumptions recipe_lipschitz.
Print Assumptions w_half_lipschitz.
Print Assumptions w_one_lipschitz.
Print Assumptions half_private.
Print Assumptions half_fenced_private.
Print Assumptions frame_private.
Print Assumptions edges_to_pairs.
Print Assumptions relief_fenced_private.
Print Assumptions far_step.
Print Assumptions three_points.
Print Assumptions bounded_edge.
Print Assumptions jumps_enough.
Print Assumptions every_level.
Print Assumptions lowering_keeps.
Print Assumptions paper_ends.
Print Assumptions lazy_exact.
Print Assumptions sampler_half_exact.
Print Assumptions sampler_one_exact.
Print Assumptions trace_private.
Print Assumptions rounded_private.
Print Assumptions rounding_paid.
Print Assumptions one_rounding.
Print Assumptions added_off.
Print Assumptions program_law.
Print Assumptions program_private.
Print Assumptions checker_sound.
Print Assumptions checker_every_level.
Print Assumptions recipe_every_level.
