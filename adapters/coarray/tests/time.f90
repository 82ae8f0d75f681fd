! SPDX-License-Identifier: BSD-3-Clause
! Print the time of each kind of access and synchronisation in microseconds: the best of 5
! rounds. The program can be linked with libcaf_rcx, or with another coarray library.
program time
  use iso_fortran_env
  implicit none
  integer, parameter :: n = 131072
  integer(atomic_int_kind), save :: word[*]
  type(event_type), save :: event[*]
  real(8), allocatable :: a(:)[:], b(:)
  integer :: other, what

  other = 1 + mod(this_image(), num_images())
  allocate (a(n)[*], b(n))
  a = 1
  b = 0
  word = 0
  do what = 1, 13
    call measure(what)
  end do
contains
  subroutine measure(what)
    integer, intent(in) :: what
    character(22), parameter :: names(13) = [character(22) :: 'get 4 B', 'put 4 B', 'atomic_add', 'get 1 MB', &
      'put 1 MB', 'get 1024, stride 128', 'event to and fro', 'sync all', 'sync images', 'co_sum 8 B', &
      'co_sum 1 MB', 'co_sum 1 MB, coarray', 'co_broadcast 1 MB']
    integer, parameter :: all_call = 7 ! before it, only image 1 measures
    integer(int64) :: begin, finish, rate
    integer :: round, i, times
    real(real64) :: best

    times = merge(50, 5000, index(names(what), 'MB') > 0)
    best = huge(best)
    do round = 1, 5
      sync all
      call system_clock(begin, rate)
      if (what >= all_call .or. this_image() == 1) then
        do i = 1, times
          call once(what)
        end do
        sync memory
      end if
      call system_clock(finish)
      best = min(best, real(finish - begin, real64) / rate / times * 1e6)
    end do
    sync all
    if (this_image() == 1) print '(a, f12.3)', names(what), best
  end subroutine

  subroutine once(what)
    integer, intent(in) :: what
    integer :: y

    select case (what)
    case (1); y = word[other]
    case (2); word[other] = 1
    case (3); call atomic_add(word[other], 1)
    case (4); b = a(:)[other]
    case (5); a(:)[other] = b
    case (6); b(:1024) = a(1:n:128)[other]
    case (7); event post (event[other]); event wait (event)
    case (8); sync all
    case (9); if (num_images() > 1) sync images (other)
    case (10); call co_sum(b(1))
    case (11); call co_sum(b)
    case (12); call co_sum(a)
    case (13); call co_broadcast(b, 1)
    end select
  end subroutine
end program
