! SPDX-License-Identifier: BSD-3-Clause
! ends failed | error | stop | far
program ends
  use iso_fortran_env, only: stat_failed_image
  implicit none
  character(8) :: how
  character(80) :: message
  integer :: x, stat

  call get_command_argument(1, how)
  x = this_image()
  sync all
  select case (how)
  case ('failed')
    if (this_image() == 2) fail image
    call co_sum(x, stat=stat, errmsg=message)
    if (stat /= stat_failed_image) error stop 'not told'
    if (image_status(2) /= stat_failed_image) error stop 'image_status'
    if (any(failed_images() /= [2])) error stop 'failed_images'
    print '(a)', 'image 2 failed'
  case ('error')
    if (this_image() == 2) error stop 7
    sync all
  case ('stop')
    if (this_image() == 2) stop 3
    stop
  case ('far')
    call co_sum(x, result_image=99)
  end select
end program
