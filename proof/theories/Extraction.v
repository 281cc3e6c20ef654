(* SPDX-License-Identifier: Apache-2.0 *)
(** The checker as OCaml. Whole numbers become OCaml's 63-bit integers through [Whole], whose operations give the exact
    result or stop the program: what the extracted program says is what the Coq program would say. *)

From Coq Require Import ZArith Extraction ExtrOcamlBasic FMapPositive.
From Geoelastic Require Import Checker Recipe.

Extraction Language OCaml.

Extract Inductive nat => int [ "0" "Whole.succ" ] "(fun zero more n -> if n <= 0 then zero () else more (n - 1))".
Extract Inductive positive => int [ "Whole.twice_and_one" "Whole.twice" "1" ]
  "(fun odd even one p -> if p <= 1 then one () else if p land 1 = 0 then even (p lsr 1) else odd (p lsr 1))".
Extract Inductive Z => int [ "0" "" "Whole.opp" ]
  "(fun zero pos neg z -> if z = 0 then zero () else if z > 0 then pos z else neg (Whole.opp z))".

Extract Inlined Constant Z.add => "Whole.add".
Extract Inlined Constant Z.sub => "Whole.sub".
Extract Inlined Constant Z.opp => "Whole.opp".
Extract Inlined Constant Z.mul => "Whole.mul".
Extract Inlined Constant Z.div => "Whole.div".
Extract Inlined Constant Z.modulo => "Whole.modulo".
Extract Inlined Constant Z.pow => "Whole.pow".
Extract Inlined Constant Z.abs => "Whole.abs".
Extract Inlined Constant Z.max => "Whole.max".
Extract Inlined Constant Z.min => "Whole.min".
Extract Inlined Constant Z.leb => "Whole.leb".
Extract Inlined Constant Z.ltb => "Whole.ltb".
Extract Inlined Constant Z.eqb => "Whole.eqb".
Extract Inlined Constant Z.of_nat => "".
Extract Inlined Constant Z.to_nat => "(Whole.max 0)".
Extract Inlined Constant Z.to_pos => "(Whole.max 1)".

(* Arrays; a read outside raises. *)
Extract Inlined Constant reader => "int array".
Extract Inlined Constant get => "Array.get".
Extraction Inline mass fence required height measure place rank reach first_arc middle tip long way_out load depth turn weights
  whole_weight.

Extraction "proved.ml" check graph_ok requirement_ok relief_ok table_ok.
