(* SPDX-License-Identifier: Apache-2.0 *)
(* Whole numbers of 63 bits. Every operation gives the exact result or raises Overflow: a program that ends has computed
   with whole numbers. Trusted, hence short. *)

exception Overflow

let[@inline] add (a : int) (b : int) =
  let s = a + b in
  if (a lxor s) land (b lxor s) < 0 then raise Overflow else s

let[@inline] opp (a : int) = if a = min_int then raise Overflow else -a
let[@inline] sub (a : int) (b : int) =
  let s = a - b in
  if (a lxor b) land (a lxor s) < 0 then raise Overflow else s

(* Doubles are right to 2^-50 of a product: below 2^61 by them, it is below 2^62. *)
let[@inline] mul (a : int) (b : int) =
  let about = float_of_int a *. float_of_int b in
  if about < 0x1p61 && about > -0x1p61 then a * b else raise Overflow

(* Rounded down, as in Coq; the divisor is always positive here. *)
let div (a : int) (b : int) =
  if b <= 0 then raise Overflow else if a >= 0 then a / b else -1 - ((-1 - a) / b)

let modulo (a : int) (b : int) = sub a (mul b (div a b))

let pow (a : int) (n : int) =
  let rec go r n = if n <= 0 then r else go (mul r a) (n - 1) in
  if n < 0 then 0 else go 1 n

let abs (a : int) = if a < 0 then opp a else a
let[@inline] max (a : int) (b : int) = if a >= b then a else b
let[@inline] min (a : int) (b : int) = if a <= b then a else b
let[@inline] leb (a : int) (b : int) = a <= b
let[@inline] ltb (a : int) (b : int) = a < b
let[@inline] eqb (a : int) (b : int) = a = b
let succ a = add a 1
let twice a = add a a
let twice_and_one a = add (add a a) 1
