! SPDX-License-Identifier: BSD-3-Clause
! time: microseconds of co_sum of 8 bytes and of 1 MB, of all images together; to be linked
! with one library or another.
program time
  use iso_fortran_env, only: int64, real64
  implicit none
  real(real64), allocatable :: x(:)

  allocate (x(131072))
  call measure(1, 2000)
  call measure(131072, 20)
contains
  subroutine measure(n, times)
    integer, intent(in) :: n, times
    integer(int64) :: begin, finish, rate
    integer :: i, round
    real(real64) :: best, taken

    best = huge(best)
    do round = 1, 11
      x = 0
      sync all
      call system_clock(begin, rate)
      do i = 1, times
        call co_sum(x(:n))
      end do
      call system_clock(finish)
      taken = real(finish - begin, real64) / rate / times * 1e6
      call co_max(taken)
      best = min(best, taken)
    end do
    if (this_image() == 1) print '(i8, a, f10.2)', 8 * n, ' bytes, us:', best
  end subroutine
end program
