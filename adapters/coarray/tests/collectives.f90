! SPDX-License-Identifier: BSD-3-Clause
! Every collective on every kind and shape of operand, compared with known results.
module functions
  implicit none
  type :: long_one
    integer :: n
    real(8) :: x(3)
  end type
  type :: short_one
    integer :: n
  end type
contains
  pure integer function larger(a, b)
    integer, intent(in) :: a, b
    larger = max(a, b)
  end function
  pure integer function larger_value(a, b)
    integer, value :: a, b
    larger_value = max(a, b)
  end function
  pure real(8) function product8(a, b)
    real(8), intent(in) :: a, b
    product8 = a * b
  end function
  pure complex(4) function product_complex(a, b)
    complex(4), intent(in) :: a, b
    product_complex = a * b
  end function
  pure logical function both(a, b)
    logical, intent(in) :: a, b
    both = a .and. b
  end function
  pure character(3) function last(a, b)
    character(3), intent(in) :: a, b
    last = merge(a, b, a > b)
  end function
  pure type(long_one) function added(a, b)
    type(long_one), intent(in) :: a, b
    added%n = a%n + b%n
    added%x = a%x * b%x
  end function
  pure type(short_one) function short_added(a, b)
    type(short_one), intent(in) :: a, b
    short_added%n = a%n + b%n
  end function
end module

program collectives
  use functions
  use iso_fortran_env, only: int8, int16, int32, int64, real32, real64
  implicit none
  integer :: me, n, i, total

  me = this_image()
  n = num_images()
  total = (n * (n + 1)) / 2
  call kinds()
  call shapes()
  call images()
  call text()
  call user_functions()
  call outcomes()
  call synchronisation()
  call coarrays()
  if (me == 1) print '(a)', 'all is well'
contains
  subroutine check(holds, what)
    logical, intent(in) :: holds
    character(*), intent(in) :: what
    if (.not. holds) then
      print *, 'image', me, ': ', what
      error stop 'not as it should be'
    end if
  end subroutine

  subroutine kinds()
    integer(int8) :: a
    integer(int16) :: b
    integer(int32) :: c
    integer(int64) :: d
    integer(16) :: e
    real(real32) :: f
    real(real64) :: g
    real(10) :: h
    complex(4) :: p
    complex(8) :: q
    complex(10) :: r

    a = int(me, int8); b = int(me, int16); c = me; d = me; e = me; f = me; g = me; h = me
    p = cmplx(me, 1); q = cmplx(me, 1, 8); r = cmplx(me, 1, 10)
    call co_sum(a); call co_sum(b); call co_sum(c); call co_sum(d); call co_sum(e)
    call co_sum(f); call co_sum(g); call co_sum(h); call co_sum(p); call co_sum(q)
    call co_sum(r)
    call check(a == total .and. b == total .and. c == total .and. d == total .and. &
               e == total, 'co_sum of integers')
    call check(nint(f) == total .and. nint(g) == total .and. nint(h) == total, 'co_sum of reals')
    call check(nint(real(p)) == total .and. nint(aimag(q)) == n .and. &
               nint(real(r)) == total, 'co_sum of complexes')
    a = int(me, int8); b = int(me, int16); c = me; d = me; e = me; f = me; g = me; h = me
    call co_max(a); call co_max(b); call co_max(c); call co_max(d); call co_max(e)
    call co_max(f); call co_max(g); call co_max(h)
    call check(a == n .and. b == n .and. c == n .and. d == n .and. e == n .and. &
               nint(f) == n .and. nint(g) == n .and. nint(h) == n, 'co_max')
    e = me; g = me
    call co_min(e); call co_min(g)
    call check(e == 1 .and. nint(g) == 1, 'co_min')
  end subroutine

  subroutine shapes()
    real(8) :: v(10), m(4, 6), t(2, 3, 4), none(0)
    real(8), allocatable :: kept(:, :)

    v = me
    call co_sum(v(10:1:-3))
    call check(all(nint(v) == [total, me, me, total, me, me, total, me, me, total]), 'reversed')
    m = me
    call co_sum(m(2:3, ::2))
    kept = m
    call check(all(nint(m(2:3, ::2)) == total), 'section')
    call check(all(nint(m(1, :)) == me) .and. all(nint(m(:, 2)) == me), 'around a section')
    do i = 1, 24
      t(mod(i - 1, 2) + 1, mod((i - 1) / 2, 3) + 1, (i - 1) / 6 + 1) = i * me
    end do
    call co_sum(t(:, 1:3:2, 2:4))
    call check(nint(t(2, 3, 4)) == 24 * total .and. nint(t(1, 2, 2)) == 9 * me, 'rank 3')
    call co_sum(none)
    call co_max(v(5:4))
    v = merge(7, 0, me == n)
    call co_broadcast(v(::2), n)
    call check(all(nint(v(::2)) == 7), 'co_broadcast of a section')
  end subroutine

  subroutine images()
    integer :: x(3)
    type(long_one) :: d
    logical :: l

    x = me
    call co_sum(x, result_image=n)
    if (me == n) call check(all(x == total), 'result_image')
    x = me
    call co_max(x(1:3:2), result_image=1)
    if (me == 1) call check(all(x == [n, 1, n]), 'result_image of a section')
    d%n = me
    d%x = me
    call co_broadcast(d, 1)
    call check(d%n == 1 .and. all(nint(d%x) == 1), 'co_broadcast of a type')
    call parts()
    l = me == n
    call co_broadcast(l, n)
    call check(l, 'co_broadcast of a logical')
  end subroutine

  ! gfortran 12 broadcasts a type with allocatable components part by part, and leaves the
  ! descriptors of the parts half uninitialised.
  subroutine parts()
    type :: part
      integer :: i
      integer, allocatable :: j, none
      integer, allocatable :: a(:, :), v(:), nothing(:)
      real(8), allocatable :: r(:)
    end type
    type(part) :: p
    integer :: k

    do k = 1, n
      if (allocated(p%j)) deallocate(p%j, p%a, p%v, p%r)
      allocate(p%j, p%a(2, 3), p%v(4), p%r(1000))
      p%i = me; p%j = 10 * me; p%a = 100 * me; p%v = 1000 * me; p%r = me
      call fill_stack(k)
      call co_broadcast(p, k)
      call check(p%i == k .and. p%j == 10 * k .and. all(p%a == 100 * k) .and. all(p%v == 1000 * k) .and. &
                 all(nint(p%r) == k), 'co_broadcast of a type with allocatable components')
      call check(.not. allocated(p%none) .and. .not. allocated(p%nothing), 'which stay unallocated')
    end do
  end subroutine

  ! Fill the stack, so that later calls find these values in uninitialised variables.
  subroutine fill_stack(seed)
    integer, intent(in) :: seed
    integer, volatile :: x(4000)
    x = 8 * seed
  end subroutine

  subroutine text()
    character(4) :: c(2)
    character(len=2, kind=4) :: w

    c = [character(4) :: 'img' // achar(64 + me), 'b']
    call co_max(c)
    call check(c(1) == 'img' // achar(64 + n) .and. c(2) == 'b', 'co_max of characters')
    call co_broadcast(c, n)
    w = char(300 * me, 4) // 4_'x'
    call co_min(w)
    call check(w == char(300, 4) // 4_'x', 'co_min of wide characters')
  end subroutine

  subroutine user_functions()
    integer :: x(5)
    real(8) :: y
    complex(4) :: z
    logical :: l
    character(3) :: c
    type(long_one) :: d(2)
    type(short_one) :: s
    integer :: stat

    x = me
    call co_reduce(x, larger)
    call check(all(x == n), 'by reference')
    x = -me
    call co_reduce(x(1:5:2), larger_value)
    call check(all(x == [-1, -me, -1, -me, -1]), 'by value')
    y = 2
    call co_reduce(y, product8, result_image=1)
    if (me == 1) call check(nint(y) == 2**n, 'of reals')
    z = (0, 1)
    call co_reduce(z, product_complex)
    call check(abs(z - (0, 1)**n) < 1e-3, 'of complexes')
    l = me /= 2
    call co_reduce(l, both)
    call check(l .eqv. n < 2, 'of logicals')
    c = 'x' // achar(48 + me) // 'y'
    call co_reduce(c, last)
    call check(c == 'x' // achar(48 + n) // 'y', 'of characters')
    d%n = me
    d(1)%x = 2
    d(2)%x = 1
    call co_reduce(d, added)
    call check(all(d%n == total) .and. nint(d(1)%x(3)) == 2**n .and. nint(d(2)%x(1)) == 1, &
               'of derived types')
    s%n = me
    call co_reduce(s, short_added, stat=stat)
    call check(stat == 3, 'a short derived type is refused')
  end subroutine

  subroutine outcomes()
    integer :: x, stat
    character(len=:), allocatable :: message
    character(6) :: short

    x = me
    stat = 99
    message = 'untouched '
    call co_sum(x, stat=stat, errmsg=message)
    call check(stat == 0 .and. message == 'untouched ' .and. x == total, 'stat of success')
    call co_sum(x, result_image=n + 1, stat=stat, errmsg=message)
    call check(stat == 3 .and. message == 'no such im', 'stat and errmsg')
    call co_broadcast(x, n + 1, stat=stat)
    call check(stat == 3, 'no such source')
    sync images (n + 1, stat=stat, errmsg=short)
    call check(stat == 3 .and. short == 'no suc', 'no such image to synchronise with')
    sync all (stat=stat)
    call check(stat == 0, 'sync all')
  end subroutine

  subroutine synchronisation()
    integer :: next, before

    next = mod(me, n) + 1
    before = mod(me - 2 + n, n) + 1
    sync images (*)
    if (n > 1) then
      sync images (merge([next, before], [next, next], n > 2 .or. next /= before))
    end if
    if (me == 1) then
      sync images (*)
    else
      sync images (1)
    end if
    sync memory
    sync all
  end subroutine

  subroutine coarrays()
    real(8), allocatable :: here(:)[:]
    integer, save :: static[*]

    allocate (here(5)[*])
    here = me
    call co_sum(here)
    call check(all(nint(here) == total), 'of a coarray')
    deallocate (here)
    static = me
    call co_max(static)
    call check(static == n, 'of a static coarray')
    call check(size(failed_images()) == 0 .and. image_status(me) == 0, 'no image failed')
  end subroutine
end program
