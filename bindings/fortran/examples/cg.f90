! SPDX-License-Identifier: BSD-3-Clause
! Pipelined conjugate gradients (Ghysels and Vanroose 2014) for Poisson's equation on a square.
! Ranks have blocks of columns. In each iteration the dot products are reduced, and columns at
! the borders of blocks are exchanged, while the matrix is applied. The result is compared with
! that of one rank alone.
!
!     gfortran -O2 cg.f90 -o cg $(pkg-config --cflags --libs rcx-fortran) && rcxrun -n 4 ./cg
!
! With argument exact the dot products are exact sums: any number of ranks has the same bits.
module poisson
  implicit none
  integer, parameter :: dp = kind(1d0), n = 96, most_iterations = 1000
  real(dp), parameter :: tolerance = 1e-10_dp
contains
  ! The solution that the right-hand side is made of, in column j.
  function wanted(j) result(u)
    integer, intent(in) :: j
    real(dp) :: u(n), x, y
    integer :: i

    y = real(j, dp) / (n + 1)
    do i = 1, n
      x = real(i, dp) / (n + 1)
      u(i) = x * (1 - x) * y * (1 - y) * exp(2 * x - y)
    end do
  end function

  ! Columns first to last of A u, where A is the 5-point Laplacian. u has one more row and column
  ! on each side.
  subroutine apply(u, first, last, au)
    real(dp), intent(in) :: u(0:, 0:)
    integer, intent(in) :: first, last
    real(dp), intent(inout) :: au(:, :)
    integer :: i, j

    do j = first, last
      do i = 1, n
        au(i, j) = 4 * u(i, j) - u(i - 1, j) - u(i + 1, j) - u(i, j - 1) - u(i, j + 1)
      end do
    end do
  end subroutine

  ! The right-hand side in columns first to last of the square.
  function right_side(first, last) result(b)
    integer, intent(in) :: first, last
    real(dp) :: b(n, last - first + 1), u(0:n + 1, 0:last - first + 2)
    integer :: j

    u = 0
    do j = max(first - 1, 1), min(last + 1, n)
      u(1:n, j - first + 1) = wanted(j)
    end do
    call apply(u, 1, last - first + 1, b)
  end function
end module

! The vectors of the method, and what it does with them on each rank.
module pipeline
  use poisson
  implicit none
  type :: state
    real(dp), allocatable :: x(:, :), r(:, :), p(:, :), s(:, :), z(:, :)
    real(dp) :: gamma = 0, alpha = 0 ! of the last iteration
  end type
contains
  subroutine start(v, b)
    type(state), intent(out) :: v
    real(dp), intent(in) :: b(:, :)

    allocate (v%x, v%p, v%s, v%z, mold=b)
    v%x = 0
    v%p = 0
    v%s = 0
    v%z = 0
    v%r = b
  end subroutine

  ! One iteration, from gamma = (r, r), delta = (w, r) and q = A w, where w = A r.
  subroutine step(v, gamma, delta, q, w)
    type(state), intent(inout) :: v
    real(dp), intent(in) :: gamma, delta, q(:, :)
    real(dp), intent(inout) :: w(:, :)
    real(dp) :: beta

    if (v%gamma > 0) then
      beta = gamma / v%gamma
      v%alpha = gamma / (delta - beta * gamma / v%alpha)
    else
      beta = 0
      v%alpha = gamma / delta
    end if
    v%gamma = gamma
    v%z = q + beta * v%z
    v%s = w + beta * v%s
    v%p = v%r + beta * v%p
    v%x = v%x + v%alpha * v%p
    v%r = v%r - v%alpha * v%s
    w = w - v%alpha * v%z
  end subroutine
end module

program cg
  use pipeline
  use rcx
  implicit none
  type(rcx_context) :: context
  type(rcx_comm) :: comm
  type(state) :: together, alone
  integer :: rank, ranks, first, last, iterations, iterations_alone
  logical :: is_exact
  real(dp) :: error(2)
  character(5) :: argument

  call get_command_argument(1, argument)
  is_exact = argument == 'exact'
  call rcx_init(context)
  comm = rcx_world(context)
  rank = rcx_comm_rank(comm)
  ranks = rcx_comm_size(comm)
  if (ranks > n) error stop 'cg: there are more ranks than columns'
  first = n * rank / ranks + 1
  last = n * (rank + 1) / ranks

  call solve(right_side(first, last), last - first + 1, together, iterations)
  call solve_alone(right_side(1, n), alone, iterations_alone)
  call compare(error)
  if (rank == 0) print '(i0, a, i0, a, es8.1, a, es8.1)', ranks, ' ranks: ', iterations, &
      ' iterations, error', error(1), ', difference from one rank', error(2)
  call rcx_finalize(context)
  if (error(1) > 1e-7_dp .or. error(2) > merge(0d0, 1e-9_dp, is_exact)) &
      error stop 'cg: the solution is wrong'
  if (is_exact .and. iterations /= iterations_alone) error stop 'cg: iterations differ'
contains
  subroutine solve(b, columns, v, iterations)
    integer, intent(in) :: columns
    real(dp), intent(in) :: b(n, columns)
    type(state), intent(out) :: v
    integer, intent(out) :: iterations
    real(dp), asynchronous :: w(0:n + 1, 0:columns + 1), dots(2)
    type(rcx_exact64), asynchronous :: sums(2)
    type(rcx_request) :: halos(4), reduction
    real(dp) :: q(n, columns), smallest

    call start(v, b)
    w = 0
    w(1:n, 1:columns) = b
    call exchange(w, columns, halos)
    call apply_all(w, columns, halos, q)
    w(1:n, 1:columns) = q
    smallest = 0
    do iterations = 1, most_iterations
      ! both are in flight while the matrix is applied
      if (is_exact) then
        call add_exactly(v%r, w(1:n, 1:columns), sums)
        call rcx_iallreduce(RCX_IN_PLACE, sums, 2, RCX_EXACT_FLOAT64, RCX_SUM, comm, reduction)
      else
        dots = [sum(v%r * v%r), sum(w(1:n, 1:columns) * v%r)]
        call rcx_iallreduce(RCX_IN_PLACE, dots, 2, RCX_FLOAT64, RCX_SUM, comm, reduction)
      end if
      call exchange(w, columns, halos)
      call apply_all(w, columns, halos, q)
      call rcx_wait(reduction)
      call rcx_request_free(reduction)
      if (is_exact) dots = [rcx_exact64_round(sums(1)), rcx_exact64_round(sums(2))]
      if (iterations == 1) smallest = tolerance**2 * dots(1)
      if (dots(1) <= smallest) exit
      call step(v, dots(1), dots(2), q, w(1:n, 1:columns))
    end do
  end subroutine

  ! Begin to fill columns 0 and columns + 1 of w by the neighbours' adjacent ones.
  subroutine exchange(w, columns, requests)
    integer, intent(in) :: columns
    real(dp), intent(inout), asynchronous :: w(0:n + 1, 0:columns + 1)
    type(rcx_request), intent(inout) :: requests(4)
    integer, parameter :: to_left = 1, to_right = 2

    if (rank > 0) then
      call rcx_irecv(w(:, 0), n + 2, RCX_FLOAT64, rank - 1, to_right, comm, requests(1))
      call rcx_isend(w(:, 1), n + 2, RCX_FLOAT64, rank - 1, to_left, comm, requests(2))
    end if
    if (rank < ranks - 1) then
      call rcx_irecv(w(:, columns + 1), n + 2, RCX_FLOAT64, rank + 1, to_left, comm, requests(3))
      call rcx_isend(w(:, columns), n + 2, RCX_FLOAT64, rank + 1, to_right, comm, requests(4))
    end if
  end subroutine

  ! q = A w: first the columns that need no neighbour, then those at the borders.
  subroutine apply_all(w, columns, requests, q)
    integer, intent(in) :: columns
    real(dp), intent(inout), asynchronous :: w(0:n + 1, 0:columns + 1)
    type(rcx_request), intent(inout) :: requests(4)
    real(dp), intent(inout) :: q(n, columns)

    call apply(w, 2, columns - 1, q)
    call rcx_wait_all(requests)
    call rcx_request_free(requests)
    call apply(w, 1, 1, q)
    call apply(w, columns, columns, q)
  end subroutine

  ! (r, r) and (w, r) of this rank, without rounding.
  subroutine add_exactly(r, w, sums)
    real(dp), intent(in) :: r(:, :), w(:, :)
    type(rcx_exact64), intent(out) :: sums(2)

    call rcx_exact64_add_product(sums(1), r, r)
    call rcx_exact64_add_product(sums(2), w, r)
  end subroutine

  ! The same without communication.
  subroutine solve_alone(b, v, iterations)
    real(dp), intent(in) :: b(:, :)
    type(state), intent(out) :: v
    integer, intent(out) :: iterations
    type(rcx_exact64) :: sums(2)
    real(dp), allocatable :: w(:, :), q(:, :)
    real(dp) :: dots(2), smallest

    call start(v, b)
    allocate (w(0:n + 1, 0:n + 1), q(n, n))
    w = 0
    w(1:n, 1:n) = b
    call apply(w, 1, n, q)
    w(1:n, 1:n) = q
    smallest = 0
    do iterations = 1, most_iterations
      if (is_exact) then
        call add_exactly(v%r, w(1:n, 1:n), sums)
        dots = [rcx_exact64_round(sums(1)), rcx_exact64_round(sums(2))]
      else
        dots = [sum(v%r * v%r), sum(w(1:n, 1:n) * v%r)]
      end if
      call apply(w, 1, n, q)
      if (iterations == 1) smallest = tolerance**2 * dots(1)
      if (dots(1) <= smallest) exit
      call step(v, dots(1), dots(2), q, w(1:n, 1:n))
    end do
  end subroutine

  ! The largest differences on any rank: from the solution, and from that of one rank.
  subroutine compare(error)
    real(dp), intent(out) :: error(2)
    integer :: j

    error = 0
    do j = first, last
      error(1) = max(error(1), maxval(abs(together%x(:, j - first + 1) - wanted(j))))
      error(2) = max(error(2), maxval(abs(together%x(:, j - first + 1) - alone%x(:, j))))
    end do
    call rcx_allreduce(RCX_IN_PLACE, error, 2, RCX_FLOAT64, RCX_MAX, comm)
  end subroutine
end program
