! SPDX-License-Identifier: BSD-3-Clause
! Memory of other images: every kind, shape and form of access, compared with known values.
module remote_types
  implicit none
  type :: inner
    integer :: n
    real(8), allocatable :: x(:)
    character(4) :: name
  end type
  type :: outer
    integer :: before
    type(inner) :: one
    type(inner), allocatable :: some(:)
    integer, allocatable :: scalar
    integer :: fixed(2, 3)
    integer, allocatable :: table(:, :)
    real(4), pointer :: p(:) => null()
  end type
  type :: pair
    integer :: n
    real(8) :: x
  end type
end module

program remote
  use remote_types
  use iso_fortran_env
  implicit none
  integer :: me, n, next, last

  me = this_image()
  n = num_images()
  next = modulo(me, n) + 1
  last = modulo(me - 2, n) + 1
  call scalars()
  call sections()
  call vectors()
  call kinds()
  call text()
  call components()
  call allocatable_components()
  call between_others()
  call large()
  call come_and_go()
  call atomics()
  call locks()
  call events()
  call teams()
  call statuses()
  sync all
  if (me == 1) print '(a)', 'all is well'
contains
  subroutine check(holds, what)
    logical, intent(in) :: holds
    character(*), intent(in) :: what
    if (.not. holds) then
      write (error_unit, '(i0, 2a)') me, ': ', what
      error stop 'not as it should be'
    end if
  end subroutine

  subroutine scalars()
    integer, save :: x[*]
    real(8), allocatable :: y[:]
    complex(8), save :: z[*]
    logical, save :: l[*]
    integer, save :: grid[2, *]

    allocate (y[*])
    x = me
    sync all
    call check(x[next] == next .and. x[last] == last .and. x[me] == me, 'get')
    sync all
    x[next] = -me
    y[next] = me / 2d0
    z[next] = cmplx(me, -me, 8)
    l[next] = mod(me, 2) == 0
    call check(x[next] == -me, 'the value that was put has arrived')
    sync all
    call check(x == -last .and. abs(y - last / 2d0) < 1d-9 .and. nint(aimag(z)) == -last, 'put')
    call check(l .eqv. mod(last, 2) == 0, 'put of a logical')
    grid = 10 * me
    sync all
    call check(grid[1 + mod(next - 1, 2), 1 + (next - 1) / 2] == 10 * next, 'two codimensions')
    sync all
    deallocate (y)
  end subroutine

  subroutine sections()
    integer, save :: a(6, 5, 2)[*]
    real(8), allocatable :: b(:, :)[:]
    integer :: c(6, 5, 2), i, j, k

    do k = 1, 2
      do j = 1, 5
        do i = 1, 6
          a(i, j, k) = me * 1000 + 100 * i + 10 * j + k
        end do
      end do
    end do
    allocate (b(-1:3, 0:7)[*])
    b = me
    c = 0
    sync all
    c = a(:, :, :)[next]
    call check(all(c == a + (next - me) * 1000), 'whole array')
    c(2, :, 1) = a(3, :, 2)[next]
    call check(all(c(2, :, 1) == a(3, :, 2) + (next - me) * 1000), 'row')
    c(1:6:2, 1, 1) = a(6:1:-2, 5, 1)[last]
    call check(all(c(1:6:2, 1, 1) == a(6:1:-2, 5, 1) + (last - me) * 1000), 'against its order')
    c(1:2, 1:2, 1:2) = a(2:5:3, 1:5:4, :)[next]
    call check(all(c(1:2, 1:2, 1:2) == a(2:5:3, 1:5:4, :) + (next - me) * 1000), 'strides')
    call check(sum(a(:, 2, 1)[next]) == sum(a(:, 2, 1)) + 6 * (next - me) * 1000, 'in an expression')
    sync all
    b(0:3:3, 2:6:2)[next] = reshape([1, 2, 3, 4, 5, 6], [2, 3]) * real(me, 8)
    b(-1, :)[next] = me + 0.5d0
    b(2, 7)[next] = -7
    sync all
    call check(all(nint(b(0, 2:6:2)) == last * [1, 3, 5]) .and. all(nint(b(3, 2:6:2)) == last * [2, 4, 6]), 'put of strides')
    call check(all(abs(b(-1, :) - last - 0.5) < 1e-9) .and. nint(b(2, 7)) == -7, 'put of a scalar to all')
    call check(all(nint(b(1, :)) == me) .and. nint(b(2, 0)) == me, 'and nothing else')
    sync all
    a(:, 1, 1)[me] = a(6:1:-1, 1, 1)
    call check(a(1, 1, 1) == me * 1000 + 611 .and. a(6, 1, 1) == me * 1000 + 111, 'overlap with oneself')
    a(2:6, 2, 1)[me] = a(1:5, 2, 1)[me]
    call check(a(6, 2, 1) == me * 1000 + 521 .and. a(2, 2, 1) == me * 1000 + 121, 'shifted in itself')
    c(1:0, 1, 1) = a(1:0, 1, 1)[next]
    a(4:3, 1, 1)[next] = 7
    sync all
  end subroutine

  subroutine vectors()
    integer, save :: a(10)[*], m(4, 4)[*]
    integer :: i, few(3), b(3), c(2, 3), from, to, step

    a = [(me * 100 + i, i = 1, 10)]
    m = reshape([(me * 100 + i, i = 1, 16)], [4, 4])
    few = [9, 2, 5]
    sync all
    b = a([7, 1, 10])[next]
    call check(all(b == next * 100 + [7, 1, 10]), 'vector subscript')
    b = a(few)[last]
    call check(all(b == last * 100 + few), 'variable vector subscript')
    c = m(2:4:2, [4, 1, 3])[next]
    call check(all(c == next * 100 + reshape([14, 16, 2, 4, 10, 12], [2, 3])), 'vector and stride')
    sync all
    a([3, 8])[next] = [-me, -2 * me]
    sync all
    call check(a(3) == -last .and. a(8) == -2 * last .and. a(4) == me * 100 + 4, 'put by vector')
    b(few / 4 + 1) = a([1, 2, 4])[me]
    call check(all(b == me * 100 + [2, 4, 1]), 'to indexed')
    from = 3
    to = 2
    step = 2
    c(1:0, :) = m(from:to:step, [4, 1, 3])[next]
    call check(size(m(from:to:step, [4, 1])[next]) == 0, 'no row of a vector')
    sync all
    m(from:to:step, few / 4 + 1)[next] = -1
    m(to:from:-step, few / 4 + 1)[next] = -1
    sync all
    call check(all(m == reshape([(me * 100 + i, i = 1, 16)], [4, 4])), 'put of none by vector')
    sync all
  end subroutine

  subroutine kinds()
    integer(1), save :: i1(3)[*]
    integer(8), save :: i8(3)[*]
    real(4), save :: r4(3)[*]
    real(16), save :: r16(3)[*]
    real(10), save :: r10(3)[*]
    complex(4), save :: c4(3)[*]
    integer(2) :: i2(3)
    real(8) :: r8(3)
    complex(8) :: c8(3)
    integer :: i

    i1 = [1, -2, 3] * int(me, 1)
    r4 = [0.5, -1.5, 2.5] * me
    r16 = me + 2._16**(-100)
    r10 = me + 2._10**(-60)
    c4 = cmplx(me, 1)
    i8 = 2_8**40 + me
    sync all
    i2 = i1(:)[next]
    call check(all(i2 == [1, -2, 3] * next), 'integer(1) to integer(2)')
    r8 = i1(:)[next]
    call check(all(nint(r8) == [1, -2, 3] * next), 'integer to real')
    i2 = r4(:)[next]
    call check(all(i2 == int([0.5, -1.5, 2.5] * next)), 'real to integer')
    c8 = r4(:)[next]
    call check(all(abs(real(c8) - [0.5, -1.5, 2.5] * next) < 1e-6) .and. all(abs(aimag(c8)) < 1e-6), 'real to complex')
    r8 = c4(:)[next]
    call check(all(nint(r8) == next), 'complex to real')
    i = i8(2)[next] - 2_8**40
    call check(i == next, 'integer(8)')
    call check(r16(2)[next] > next .and. r10(2)[next] > next, 'real(16), real(10)')
    sync all
    r8 = r10(:)[next]
    call check(all(nint(r8) == next), 'real(10) to real(8)')
    sync all
    r16(:)[next] = i1
    i8(2:3)[next] = -me
    c4(1)[next] = me * 1.5
    sync all
    i1(:)[next] = [7.9, -7.9, 0.1]
    sync all
    call check(all(nint(real(r16, 8)) == [1, -2, 3] * last) .and. all(i8(2:3) == -last), 'put integers')
    call check(abs(c4(1) - 1.5 * last) < 1e-5 .and. all(i1 == [7, -7, 0]), 'put reals')
    sync all
  end subroutine

  subroutine text()
    character(6), save :: s(3)[*]
    character(:), allocatable :: d[:]
    character(4, 4), save :: w[*]
    character(3) :: t
    character(9) :: u(3)

    s = ['abcdef', 'ghijkl', 'mnopqr']
    s(1)(1:1) = achar(64 + me)
    w = 4_'wide'
    allocate (character(5) :: d[*])
    d = 'five' // achar(48 + me)
    sync all
    t = s(1)[next]
    call check(t == achar(64 + next) // 'bc', 'shorter')
    u = s(:)[next]
    call check(u(3) == 'mnopqr   ' .and. u(1)(2:) == 'bcdef   ', 'longer')
    call check(d[next] == 'five' // achar(48 + next), 'deferred length')
    t = s(2)[next](2:4)
    call check(t == 'hij', 'substring')
    sync all
    t = 'x' // achar(48 + me)
    s(2)[next] = t
    w[next] = 4_'ab'
    sync all
    call check(s(2) == 'x' // achar(48 + last) // '    ', 'put')
    call check(w == 4_'ab  ', 'put of wide characters')
    sync all
  end subroutine

  subroutine components()
    type(pair), save :: p(4)[*]
    type(pair) :: q, few(2)
    real(8) :: x(2)
    integer :: i, stat

    p = [(pair(10 * me + i, i / 4d0), i = 1, 4)]
    sync all
    q = p(2)[next]
    call check(q%n == 10 * next + 2 .and. abs(q%x - 0.5) < 1e-9, 'derived type')
    call check(p(3)[next]%n == 10 * next + 3, 'component')
    few = p(2:4:2)[next]
    call check(all(few%n == 10 * next + [2, 4]) .and. all(abs(few%x - [0.5, 1.0]) < 1e-9), 'section of a derived type')
    x = -1
    x = p(2:4:2)[next, stat=stat]%x
    call check(stat /= 0 .and. all(nint(x) == -1), 'a wrong section from gfortran is refused')
    sync all
    p(1)[next]%x = me
    few = [pair(5 * me, 0), pair(6 * me, 1)]
    p(3:4)[next] = few
    p(2)[next] = pair(-me, 3)
    sync all
    call check(nint(p(1)%x) == last .and. all(p(3:4)%n == [5, 6] * last) .and. p(2)%n == -last, 'put of components')
    call check(abs(p(2)%x - 3) < 1e-9 .and. p(1)%n == 10 * me + 1, 'and nothing else')
    sync all
  end subroutine

  subroutine allocatable_components()
    type(outer), save :: o[*]
    type(inner), allocatable :: v(:)[:]
    real(8), allocatable :: x(:)
    integer, allocatable :: t(:, :), s(:)
    real(4), target, save :: there(3)
    integer :: i

    allocate (v(2)[*])
    sync all
    call check(.not. allocated(o[next]%one%x), 'not allocated')
    sync all
    o%before = me
    o%one%n = me + 1
    o%one%x = [(i * 1d0 * me, i = 1, 3 + me)]
    o%one%name = 'name'
    allocate (o%some(2))
    o%some(2)%n = 77 * me
    o%some(2)%x = [1d0 * me, 2d0 * me]
    o%scalar = -5 * me
    o%fixed = reshape([1, 2, 3, 4, 5, 6], [2, 3]) * me
    o%table = o%fixed
    there = [1, 2, 3] * 0.5 * me
    o%p => there
    do i = 1, 2
      v(i)%n = me
      allocate (v(i)%x(0:2))
      v(i)%x = i * me
    end do
    sync all
    call check(allocated(o[next]%one%x) .and. allocated(o[next]%scalar), 'allocated')
    call check(o[next]%one%n == next + 1 .and. o[next]%one%name == 'name', 'in a type in a type')
    x = o[next]%one%x
    call check(size(x) == 3 + next .and. all(nint(x) == [(i * next, i = 1, 3 + next)]), 'allocatable component')
    x = o[next]%one%x(2:4:2)
    call check(all(nint(x) == [2, 4] * next), 'section of it')
    call check(nint(o[next]%one%x(3)) == 3 * next, 'element of it')
    call check(o[next]%scalar == -5 * next, 'scalar component')
    call check(o[next]%some(2)%n == 77 * next, 'components of components')
    call check(nint(o[next]%some(2)%x(2)) == 2 * next, 'and allocatable ones of these')
    call check(all(o[next]%fixed(2, :) == [2, 4, 6] * next) .and. o[next]%fixed(1, 2) == 3 * next, 'static component')
    allocate (t(3, 2), s(4))
    t = o[next]%table
    call check(all(shape(t) == [2, 3]) .and. all(t == o%table / me * next), 'as many elements in another shape')
    s = o[next]%scalar
    call check(size(s) == 4 .and. all(s == -5 * next), 'scalar component to an array')
    call check(all(abs(o[next]%p(:) - [1, 2, 3] * 0.5 * next) < 1e-6), 'pointer component')
    call check(nint(v(2)[next]%x(0)) == 2 * next .and. all(nint(v(1)[next]%x(1:)) == next), 'of an array')
    sync all
    o[next]%one%x(2:3) = [-1d0, -2d0] * me
    o[next]%scalar = me
    o[next]%fixed(:, 3) = [8, 9]
    v(1)[next]%x(:) = me
    v(2)[next]%n = -me
    sync all
    call check(all(nint(o%one%x(1:3)) == [me, -last, -2 * last]) .and. o%scalar == last, 'put')
    call check(all(o%fixed(:, 3) == [8, 9]) .and. o%fixed(2, 2) == 4 * me, 'put of a static component')
    call check(all(nint(v(1)%x) == last) .and. v(2)%n == -last .and. v(1)%n == me, 'put in an array')
    sync all
    deallocate (o%one%x, o%some, o%scalar)
    sync all
    call check(.not. allocated(o[next]%one%x), 'not allocated any more')
    sync all
  end subroutine

  subroutine between_others()
    integer, save :: a(5)[*], b(5)[*]
    real(8), save :: r(2, 5)[*]

    a = [1, 2, 3, 4, 5] * me
    b = 0
    r = 0
    sync all
    b(:)[next] = a(:)[last]
    r(2, 5:1:-1)[next] = a(:)[last]
    sync all
    call check(all(b == [1, 2, 3, 4, 5] * (modulo(last - 2, n) + 1)), 'from one to another')
    call check(all(nint(r(2, :)) == [5, 4, 3, 2, 1] * (modulo(last - 2, n) + 1)) .and. all(nint(r(1, :)) == 0), &
      'and converted')
    sync all
  end subroutine

  subroutine large()
    integer(8), allocatable :: a(:, :)[:]
    integer(8), allocatable :: b(:, :)
    integer :: i

    allocate (a(1000, 700)[*], b(1000, 700))
    a = reshape([(int(i, 8) * me, i = 1, 700000)], [1000, 700])
    sync all
    b = 0
    b(:, :350) = a(:, 2:700:2)[next]
    call check(all(b(:, :350) == a(:, 2:700:2) / me * next), '2.8 MB of every other column')
    sync all
    a(1:999:2, :)[next] = a(2:1000:2, :)
    sync all
    call check(all(a(1:999:2, 5) == a(2:1000:2, 5) / me * last), 'put of every other row')
    sync all
    deallocate (a)
  end subroutine

  ! Coarrays of all sizes, deallocated in another order than they were allocated.
  subroutine come_and_go()
    integer, allocatable :: a(:)[:], b(:)[:], c[:]
    integer :: i

    do i = 1, 40
      allocate (a(i**3)[*], c[*])
      allocate (b(300000 / i)[*])
      a = me * i
      c = -me
      b = i
      sync all
      call check(a(i**3)[next] == next * i .and. c[last] == -last .and. b(300000 / i)[next] == i, 'new')
      sync all
      deallocate (a)
      deallocate (c)
      deallocate (b)
    end do
  end subroutine

  subroutine atomics()
    integer(atomic_int_kind), save :: a[*], b[*]
    logical(atomic_logical_kind), save :: l[*]
    logical(atomic_logical_kind) :: is
    integer(atomic_int_kind) :: old, i, all_of

    a = 0
    b = 0
    sync all
    do i = 1, 500
      call atomic_add(a[1], me)
    end do
    call atomic_or(b[n], ishft(1, me))
    call atomic_define(l[next], .true.)
    sync all
    call atomic_ref(i, a[1])
    call check(i == 500 * n * (n + 1) / 2, 'atomic_add')
    all_of = 2 * (ishft(1, n) - 1)
    call atomic_ref(i, b[n])
    call check(i == all_of, 'atomic_or')
    call atomic_ref(is, l)
    call check(logical(is), 'atomic_define')
    sync all
    call atomic_fetch_and(b[n], not(ishft(1, me)), old)
    call check(btest(old, me), 'atomic_fetch_and')
    call atomic_fetch_xor(a[me], 1, old)
    call check(old == merge(500 * n * (n + 1) / 2, 0, me == 1), 'atomic_fetch_xor')
    sync all
    call atomic_ref(i, b[n])
    call check(i == 0, 'atomic_and')
    sync all
    if (me == 1) call atomic_cas(b[n], old, 0, 99)
    sync all
    if (me == 1) call check(old == 0, 'atomic_cas')
    call atomic_cas(b[n], old, 5, 6)
    call check(old == 99, 'atomic_cas that does not')
    sync all
    ! image 1 waits in a loop for a flag that image n sets
    if (me == n) then
      call atomic_define(a[1], -1)
    else if (me == 1) then
      i = 0
      do while (i /= -1)
        call atomic_ref(i, a)
      end do
    end if
    sync all
  end subroutine

  subroutine locks()
    type(lock_type), save :: l[*], many(2, 3)[*]
    integer, save :: count[*]
    integer :: i, stat
    logical :: mine

    count = 0
    sync all
    do i = 1, 100
      lock (l[1])
      count[1] = count[1] + 1
      unlock (l[1])
      critical
        count[n] = count[n] + 1
      end critical
    end do
    sync all
    call check(count[1] == merge(200, 100, n == 1) * n, 'locks')
    call check(count[n] == merge(200, 100, n == 1) * n, 'critical')
    sync all
    lock (many(2, 3)[next])
    lock (many(2, 3)[next], stat=stat)
    call check(stat == stat_locked, 'locked')
    sync all
    lock (many(2, 3), acquired_lock=mine)
    call check(mine .eqv. .false., 'not acquired')
    sync all
    unlock (many(2, 3), stat=stat)
    call check(stat == merge(0, stat_locked_other_image, n == 1), 'locked by another')
    sync all
    if (n > 1) unlock (many(2, 3)[next])
    unlock (many(1, 1)[next], stat=stat)
    call check(stat /= 0, 'not locked')
    sync all
  end subroutine

  subroutine events()
    type(event_type), save :: e[*], many(3)[*]
    integer :: i, count
    integer, save :: x[*]

    do i = 1, 3
      event post (e[1])
    end do
    if (me == 1) then
      event wait (e, until_count=3 * n)
      call event_query(e, count)
      call check(count == 0, 'nothing is left')
    end if
    sync all
    ! an event goes around the ring; a put before each post must be visible after the wait
    if (me == 1) then
      x = 1
      x[next] = 2
      event post (many(2)[next])
    end if
    event wait (many(2))
    call check(x == me .or. me == 1, 'a value put before the post has arrived')
    if (me > 1) then
      x[next] = me + 1
      event post (many(2)[next])
    end if
    sync all
    call event_query(many(2), count)
    call check(count == 0 .and. (me > 1 .or. x == n + 1), 'around the ring')
    sync all
  end subroutine

  subroutine teams()
    type(team_type) :: half, inner_one
    integer, save :: x[*]
    integer, allocatable :: y(:)[:]
    integer :: sum, size_of_half

    x = me
    call check(team_number() == -1, 'the initial team')
    form team (1 + mod(me, 2), half)
    sync all
    change team (half)
      size_of_half = (n + mod(me, 2)) / 2
      call check(num_images() == size_of_half .and. this_image() == (me + 1) / 2, 'in a team')
      call check(team_number() == 1 + mod(me, 2), 'its number')
      sum = 1
      call co_sum(sum)
      call check(sum == size_of_half, 'co_sum in a team')
      call check(x[1] == 2 - mod(me, 2), 'images of the team')
      allocate (y(3)[*])
      y = 10 * me
      sync all
      call check(y(2)[size_of_half] == 10 * (2 * size_of_half - mod(me, 2)), 'a coarray of the team')
      form team (this_image(), inner_one)
      change team (inner_one)
        call check(num_images() == 1, 'a team in a team')
        sync all
      end team
      if (this_image() > 1) then
        sync images (1)
      else
        sync images (*)
      end if
      deallocate (y)
    end team
    call check(num_images() == n .and. this_image() == me, 'back')
    sync team (half)
    sync all
  end subroutine

  subroutine statuses()
    integer, save :: x[*]
    integer :: y, stat

    x = me
    sync all
    y = x[next, stat=stat]
    call check(stat == 0 .and. y == next, 'stat of success')
    x[next, stat=stat] = 5
    call check(stat == 0, 'stat of a put')
    y = x[n + 1, stat=stat]
    call check(stat /= 0, 'no such image')
    sync all
  end subroutine
end program
