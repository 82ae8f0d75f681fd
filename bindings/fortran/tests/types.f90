! SPDX-License-Identifier: BSD-3-Clause
! All datatypes and ops of RCX on variables of Fortran. Rank r has values of r + 1; p ranks.
program types
  use check
  use, intrinsic :: iso_c_binding
  implicit none
  type, bind(c) :: float_int
    real(c_float) :: value
    integer(c_int) :: index
  end type
  type, bind(c) :: double_int
    real(c_double) :: value
    integer(c_int) :: index
  end type
  type, bind(c) :: long_int
    integer(c_long) :: value
    integer(c_int) :: index
  end type
  type, bind(c) :: two_int
    integer(c_int) :: value, index
  end type
  type, bind(c) :: short_int
    integer(c_short) :: value
    integer(c_int) :: index
  end type
  type, bind(c) :: long_double_int
    real(c_long_double) :: value
    integer(c_int) :: index
  end type

  call open_job()
  call test_integers()
  call test_c_integers()
  call test_reals()
  call test_halves()
  call test_default_kinds()
  call test_bits()
  call test_pairs()
  call test_ops()
  call test_exact()
  call close_job()
contains
  ! 1 + ... + p
  pure integer function total()
    total = ranks * (ranks + 1) / 2
  end function

  ! Unsigned types have no kind: a negative number is a large one.
  subroutine test_integers()
    integer(c_int8_t) :: i8(2)
    integer(c_int16_t) :: i16(2)
    integer(c_int32_t) :: i32(2)
    integer(c_int64_t) :: i64(2)

    i8 = int(merge(-1, rank, rank == 0), c_int8_t)
    call rcx_allreduce(RCX_IN_PLACE, i8, 2, RCX_INT8, RCX_MIN, world)
    call expect(all(i8 == -1), 'int8')
    i8 = int(merge(-1, rank, rank == 0), c_int8_t)
    call rcx_allreduce(RCX_IN_PLACE, i8, 2, RCX_UINT8, RCX_MAX, world)
    call expect(all(i8 == -1), 'uint8')
    i16 = int(merge(-1, rank, rank == 0), c_int16_t)
    call rcx_allreduce(RCX_IN_PLACE, i16, 2, RCX_INT16, RCX_MIN, world)
    call expect(all(i16 == -1), 'int16')
    i16 = int(merge(-1, rank, rank == 0), c_int16_t)
    call rcx_allreduce(RCX_IN_PLACE, i16, 2, RCX_UINT16, RCX_MAX, world)
    call expect(all(i16 == -1), 'uint16')
    i32 = 100000 * (rank + 1)
    call rcx_allreduce(RCX_IN_PLACE, i32, 2, RCX_INT32, RCX_SUM, world)
    call expect(all(i32 == 100000 * total()), 'int32')
    i32 = merge(-1, rank, rank == 0)
    call rcx_allreduce(RCX_IN_PLACE, i32, 2, RCX_UINT32, RCX_MAX, world)
    call expect(all(i32 == -1), 'uint32')
    i64 = 10_c_int64_t**12 * (rank + 1)
    call rcx_allreduce(RCX_IN_PLACE, i64, 2, RCX_INT64, RCX_SUM, world)
    call expect(all(i64 == 10_c_int64_t**12 * total()), 'int64')
    i64 = merge(-1, rank, rank == 0)
    call rcx_allreduce(RCX_IN_PLACE, i64, 2, RCX_UINT64, RCX_MAX, world)
    call expect(all(i64 == -1), 'uint64')
  end subroutine

  subroutine test_c_integers()
    integer(c_signed_char) :: c(2)
    integer(c_short) :: s(2)
    integer(c_int) :: i(2)
    integer(c_long) :: l(2)
    integer(c_long_long) :: ll(2)

    c = int(rank + 1, c_signed_char)
    call rcx_allreduce(RCX_IN_PLACE, c, 2, RCX_SIGNED_CHAR, RCX_SUM, world)
    call rcx_allreduce(RCX_IN_PLACE, c, 2, RCX_UNSIGNED_CHAR, RCX_MAX, world)
    call expect(all(c == total()), 'signed char, unsigned char')
    s = int(rank + 1, c_short)
    call rcx_allreduce(RCX_IN_PLACE, s, 2, RCX_SHORT, RCX_SUM, world)
    call rcx_allreduce(RCX_IN_PLACE, s, 2, RCX_UNSIGNED_SHORT, RCX_MAX, world)
    call expect(all(s == total()), 'short, unsigned short')
    i = rank + 1
    call rcx_allreduce(RCX_IN_PLACE, i, 2, RCX_INT, RCX_SUM, world)
    call rcx_allreduce(RCX_IN_PLACE, i, 2, RCX_UNSIGNED, RCX_MAX, world)
    call expect(all(i == total()), 'int, unsigned')
    l = rank + 1
    call rcx_allreduce(RCX_IN_PLACE, l, 2, RCX_LONG, RCX_SUM, world)
    call rcx_allreduce(RCX_IN_PLACE, l, 2, RCX_UNSIGNED_LONG, RCX_MAX, world)
    call expect(all(l == total()), 'long, unsigned long')
    ll = rank + 1
    call rcx_allreduce(RCX_IN_PLACE, ll, 2, RCX_LONG_LONG, RCX_SUM, world)
    call rcx_allreduce(RCX_IN_PLACE, ll, 2, RCX_UNSIGNED_LONG_LONG, RCX_MAX, world)
    call expect(all(ll == total()), 'long long, unsigned long long')
  end subroutine

  subroutine test_reals()
    real(c_float) :: f(2)
    real(c_double) :: d(2)
    real(c_long_double) :: e(2)
    complex(c_float_complex) :: cf(2)
    complex(c_double_complex) :: cd(2)
    complex(c_long_double_complex) :: ce(2)

    f = rank + 0.5
    call rcx_allreduce(RCX_IN_PLACE, f, 2, RCX_FLOAT32, RCX_SUM, world)
    call rcx_allreduce(RCX_IN_PLACE, f, 2, RCX_FLOAT, RCX_MAX, world)
    call expect(all(f == total() - 0.5 * ranks), 'float32')
    d = rank + 0.5d0
    call rcx_allreduce(RCX_IN_PLACE, d, 2, RCX_FLOAT64, RCX_SUM, world)
    call rcx_allreduce(RCX_IN_PLACE, d, 2, RCX_DOUBLE, RCX_MAX, world)
    call expect(all(d == total() - 0.5d0 * ranks), 'float64')
    e = rank + 0.5_c_long_double
    call rcx_allreduce(RCX_IN_PLACE, e, 2, RCX_LONG_DOUBLE, RCX_SUM, world)
    call expect(all(e == total() - 0.5_c_long_double * ranks), 'long double')
    cf = cmplx(1, rank, c_float)
    call rcx_allreduce(RCX_IN_PLACE, cf, 2, RCX_COMPLEX_FLOAT, RCX_SUM, world)
    call expect(all(cf == cmplx(ranks, total() - ranks, c_float)), 'complex float')
    cd = cmplx(1, rank, c_double)
    call rcx_allreduce(RCX_IN_PLACE, cd, 2, RCX_COMPLEX_DOUBLE, RCX_SUM, world)
    call expect(all(cd == cmplx(ranks, total() - ranks, c_double)), 'complex double')
    ce = cmplx(1, rank, c_long_double)
    call rcx_allreduce(RCX_IN_PLACE, ce, 2, RCX_COMPLEX_LONG_DOUBLE, RCX_SUM, world)
    call expect(all(ce == cmplx(ranks, total() - ranks, c_long_double)), 'complex long double')
  end subroutine

  ! Powers of two, whose bits are plain: 1 on each rank but for 2 on the last one, and the maximum.
  subroutine test_halves()
    integer(c_int16_t) :: x(2)

    x = int(merge(int(z'4000'), int(z'3c00'), rank == ranks - 1), c_int16_t)
    call rcx_allreduce(RCX_IN_PLACE, x, 2, RCX_FLOAT16, RCX_PROD, world)
    call expect(all(x == int(z'4000', c_int16_t)), 'float16')
    x = int(merge(int(z'4000'), int(z'3f80'), rank == ranks - 1), c_int16_t)
    call rcx_allreduce(RCX_IN_PLACE, x, 2, RCX_BFLOAT16, RCX_PROD, world)
    call expect(all(x == int(z'4000', c_int16_t)), 'bfloat16')
  end subroutine

  subroutine test_default_kinds()
    integer :: i(3)
    real :: r(3)
    double precision :: d(3)
    complex :: c(3)
    complex(kind(1d0)) :: z(3)
    logical :: l(3)
    character(5) :: text

    i = rank
    call rcx_allreduce(RCX_IN_PLACE, i, 3, RCX_INTEGER, RCX_MAX, world)
    call expect(all(i == ranks - 1), 'integer')
    r = rank
    call rcx_allreduce(RCX_IN_PLACE, r, 3, RCX_REAL, RCX_MAX, world)
    call expect(all(r == ranks - 1), 'real')
    d = rank
    call rcx_allreduce(RCX_IN_PLACE, d, 3, RCX_DOUBLE_PRECISION, RCX_MAX, world)
    call expect(all(d == ranks - 1), 'double precision')
    c = rank
    call rcx_allreduce(RCX_IN_PLACE, c, 3, RCX_COMPLEX, RCX_SUM, world)
    call expect(all(c == total() - ranks), 'complex')
    z = rank
    call rcx_allreduce(RCX_IN_PLACE, z, 3, RCX_DOUBLE_COMPLEX, RCX_SUM, world)
    call expect(all(z == total() - ranks), 'double complex')
    l = [.true., .false., rank == 0]
    call rcx_allreduce(RCX_IN_PLACE, l, 3, RCX_LOGICAL, RCX_LOR, world)
    call expect(all(l .eqv. [.true., .false., .true.]), 'logical, or')
    l = [.true., .false., rank == 0]
    call rcx_allreduce(RCX_IN_PLACE, l, 3, RCX_LOGICAL, RCX_LAND, world)
    call expect(all(l .eqv. [.true., .false., ranks == 1]), 'logical, and')
    text = merge('hello', '-----', rank == ranks - 1)
    call rcx_bcast(text, len(text), RCX_CHARACTER, ranks - 1, world)
    call expect(text == 'hello', 'character')
  end subroutine

  subroutine test_bits()
    integer(c_int8_t) :: x(2), wanted
    logical(c_bool) :: l(2)
    integer :: r

    wanted = 0
    do r = 1, ranks
      wanted = ieor(wanted, int(r, c_int8_t))
    end do
    x = int(rank + 1, c_int8_t)
    call rcx_allreduce(RCX_IN_PLACE, x, 2, RCX_BYTE, RCX_BXOR, world)
    call expect(all(x == wanted), 'byte')
    x = int(ibset(0, rank), c_int8_t)
    call rcx_allreduce(RCX_IN_PLACE, x, 2, RCX_INT8, RCX_BOR, world)
    call expect(all(x == 2**ranks - 1), 'bits, or')
    x = not(int(ibset(0, rank), c_int8_t))
    call rcx_allreduce(RCX_IN_PLACE, x, 2, RCX_INT8, RCX_BAND, world)
    call expect(all(x == -(2**ranks)), 'bits, and')
    l = [rank == 0, .true.]
    call rcx_allreduce(RCX_IN_PLACE, l, 2, RCX_BOOL, RCX_LXOR, world)
    call expect(l(1) .and. (l(2) .eqv. mod(ranks, 2) == 1), 'bool')
  end subroutine

  ! Two ranks may have the same value: the lower index counts.
  subroutine test_pairs()
    type(float_int) :: f(2)
    type(double_int) :: d(2)
    type(long_int) :: l(2)
    type(two_int) :: i(2)
    type(short_int) :: s(2)
    type(long_double_int) :: e(2)

    f = float_int(real(rank / 2), rank)
    call rcx_allreduce(RCX_IN_PLACE, f, 2, RCX_FLOAT_INT, RCX_MAXLOC, world)
    call expect(all(f%index == best()) .and. all(f%value == (ranks - 1) / 2), 'float and int')
    d = double_int(real(rank / 2, c_double), rank)
    call rcx_allreduce(RCX_IN_PLACE, d, 2, RCX_DOUBLE_INT, RCX_MAXLOC, world)
    call expect(all(d%index == best()) .and. all(d%value == (ranks - 1) / 2), 'double and int')
    l = long_int(rank / 2, rank)
    call rcx_allreduce(RCX_IN_PLACE, l, 2, RCX_LONG_INT, RCX_MAXLOC, world)
    call expect(all(l%index == best()) .and. all(l%value == (ranks - 1) / 2), 'long and int')
    i = two_int(rank / 2, rank)
    call rcx_allreduce(RCX_IN_PLACE, i, 2, RCX_2INT, RCX_MINLOC, world)
    call expect(all(i%index == 0) .and. all(i%value == 0), 'int and int')
    s = short_int(int(rank / 2, c_short), rank)
    call rcx_allreduce(RCX_IN_PLACE, s, 2, RCX_SHORT_INT, RCX_MAXLOC, world)
    call expect(all(s%index == best()) .and. all(s%value == (ranks - 1) / 2), 'short and int')
    e = long_double_int(real(rank / 2, c_long_double), rank)
    call rcx_allreduce(RCX_IN_PLACE, e, 2, RCX_LONG_DOUBLE_INT, RCX_MAXLOC, world)
    call expect(all(e%index == best()) .and. all(e%value == (ranks - 1) / 2), 'long double and int')
  end subroutine

  ! The lowest rank with the largest half.
  pure integer function best()
    best = (ranks - 1) / 2 * 2
  end function

  subroutine test_ops()
    real(c_double) :: x(2)
    integer :: i(2)
    ! bfloat16: 256, and what 1 from each other rank of up to 4 makes of it
    integer(c_int16_t), parameter :: start = int(z'4380', c_int16_t), more(4) = int([0, 0, 1, 2], c_int16_t)
    integer(c_int16_t) :: half(2)

    x = rank
    call rcx_allreduce(RCX_IN_PLACE, x, 2, RCX_FLOAT64, RCX_AVG, world)
    call expect(all(x == (ranks - 1) / 2d0), 'average')
    x = merge(1d16, 1d0, rank == 0)
    call rcx_allreduce(RCX_IN_PLACE, x, 2, RCX_FLOAT64, RCX_SUM_EXACT, world)
    call expect(all(x == real(1e16_c_long_double + ranks - 1, c_double)), 'exact sum')
    half = merge(start, int(z'3f80', c_int16_t), rank == 0)
    call rcx_allreduce(RCX_IN_PLACE, half, 2, RCX_BFLOAT16, RCX_SUM_FLOAT, world)
    if (ranks <= 4) call expect(all(half == start + more(ranks)), 'sum in float')
    x = 2
    call rcx_allreduce(RCX_IN_PLACE, x, 2, RCX_FLOAT64, RCX_PROD, world)
    call expect(all(x == 2d0**ranks), 'product')
    i = rank
    call rcx_allreduce(RCX_IN_PLACE, i, 2, RCX_INTEGER, RCX_REPLACE, world)
    call expect(all(i == ranks - 1), 'replace')
    i = rank
    call rcx_allreduce(RCX_IN_PLACE, i, 2, RCX_INTEGER, RCX_NO_OP, world)
    call expect(all(i == 0), 'no op')
    call expect(rcx_op_supported(RCX_MAXLOC, RCX_2INT), 'maxloc of pairs')
    call expect(.not. rcx_op_supported(RCX_MAXLOC, RCX_INTEGER), 'no maxloc of integers')
    call expect(RCX_SUM == RCX_SUM .and. RCX_SUM /= RCX_MAX .and. RCX_FLOAT == RCX_FLOAT32, &
        'ops and datatypes are compared')
  end subroutine

  ! 2^60, and 1 on each rank: the ones are lost in a sum of doubles, and not in an exact one.
  ! Arrays have any rank and stride.
  subroutine test_exact()
    type(rcx_exact64) :: sums(2), other
    type(rcx_exact32) :: small
    real(c_double) :: x(4, 3), y(3)
    real(c_float) :: z(2, 2)

    x = 1d30
    x(2, :) = [2d0**60, 1d0, -2d0**60]
    call rcx_exact64_add(sums(1), x(2, :))
    call rcx_exact64_add(sums(1), reshape([1d0, 2d0, 3d0, -6d0], [2, 2]))
    call rcx_exact64_add(sums(1), 0.5d0)
    y = [3d0, 2d0, 3d0]
    call rcx_exact64_add_product(sums(2), x(2, :), y)
    call rcx_allreduce(RCX_IN_PLACE, sums, 2, RCX_EXACT_FLOAT64, RCX_SUM, world)
    call expect(rcx_exact64_round(sums(1)) == 1.5d0 * ranks, 'exact sum of doubles')
    call expect(rcx_exact64_round(sums(2)) == 2 * ranks, 'exact sum of products')

    call rcx_exact64_merge(sums(2), sums(1))
    call expect(rcx_exact64_round_float(sums(2)) == 3.5 * ranks, 'exact sums are merged')
    call rcx_exact64_zero(sums(2))
    call expect(rcx_exact64_round(sums(2)) == 0, 'an exact sum is set to zero')
    call expect(rcx_exact64_round(other) == 0, 'an exact sum is zero at first')

    z = reshape([1e30, 1.0, -1e30, 0.25], [2, 2])
    call rcx_exact32_add(small, z)
    call rcx_allreduce(RCX_IN_PLACE, small, 1, RCX_EXACT_FLOAT32, RCX_SUM, world)
    call expect(rcx_exact32_round(small) == 1.25 * ranks, 'exact sum of floats')
    call expect(rcx_exact32_round_float(small) == 1.25 * ranks, 'exact sum of floats to a float')
    call rcx_exact32_merge(small, small)
    call expect(rcx_exact32_round(small) == 2.5 * ranks, 'exact sum of floats and itself')
    call rcx_exact32_zero(small)
    call expect(rcx_exact32_round(small) == 0, 'and set to zero')
    call rcx_exact64_add_product32(other, z, z(2:1:-1, :))
    call expect(rcx_exact64_round(other) == 2d0 * (1e30 * 1d0) - 2d0 * (1e30 * 0.25d0), &
        'exact sum of products of floats')
  end subroutine
end program
