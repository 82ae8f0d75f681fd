! SPDX-License-Identifier: BSD-3-Clause
! Images that end: one that fails, one that stops, error stop, and errors without stat=.
!
!     ends failed | remote | puts | stopped | alone | error | stop | far
program ends
  use iso_fortran_env, only: stat_failed_image, stat_stopped_image, event_type, lock_type, &
    atomic_int_kind
  implicit none
  character(8) :: how
  character(80) :: message
  integer :: x, stat, i
  integer, save :: y(1000)[*]
  integer(atomic_int_kind), save :: done[*]
  type(event_type), save :: e[*]
  type(lock_type), save :: l[*]

  call get_command_argument(1, how)
  x = this_image()
  sync all
  select case (how)
  case ('failed')
    if (this_image() == 2) fail image
    call co_sum(x, stat=stat, errmsg=message)
    if (stat /= stat_failed_image) error stop 'no stat_failed_image'
    if (image_status(2) /= stat_failed_image) error stop 'image_status'
    if (any(failed_images() /= [2])) error stop 'failed_images'
    print '(a)', 'image 2 failed'
  case ('remote')
    ! access to the memory and the event of a failed image, and to a lock that it held
    y = this_image()
    sync all
    if (this_image() == 2) then
      lock (l[1])
      sync images (*)
      fail image
    end if
    sync images (2)
    stat = 0
    do i = 1, 2000000000
      x = y(5)[2, stat=stat]
      if (stat /= 0) exit
      y(7)[2, stat=stat] = i
      if (stat /= 0) exit
      ! an image that waits for the failed one detects its failure
      if (mod(i, 100) == 0) sync images (2, stat=stat)
      if (stat /= 0) exit
    end do
    if (stat /= stat_failed_image) error stop 'no stat_failed_image'
    x = y(5)[2, stat=stat]
    if (stat /= stat_failed_image) error stop 'get'
    event post (e[2], stat=stat)
    if (stat /= stat_failed_image) error stop 'event post'
    event wait (e, stat=stat)
    if (stat /= stat_failed_image) error stop 'event wait'
    lock (l[1], stat=stat)
    if (stat /= 0) error stop 'lock'
    unlock (l[1])
    x = y(5)[1, stat=stat]
    if (stat /= 0 .or. x /= 1) error stop 'image 1'
    ! Image 1 stays until image 3 has read its memory: an image that ends waits for the others
    ! for RCX_TIMEOUT at most.
    if (this_image() == 3) call atomic_define(done[1], 3)
    i = 0
    do while (this_image() == 1 .and. i /= 3)
      call atomic_ref(i, done)
    end do
    print '(a)', 'image 2 failed'
  case ('puts')
    ! After image 2 has failed, puts to image 3 are complete only when image 3 has answered. It
    ! begins to answer after a second. An access to it is no error.
    call atomic_define(done, 0)
    sync all
    if (this_image() == 1) then
      y(7)[2] = 1 ! connects to image 2
      sync images (2)
      sync images (2, stat=stat)
      if (stat /= stat_failed_image) error stop 'no stat_failed_image'
      call atomic_define(done[3], 1)
      call work(200)
      y(7)[3] = 30
      sync memory (stat=stat)
      if (stat /= 0) error stop 'puts to image 3'
      do i = 1, 3
        x = y(7)[3, stat=stat]
        if (stat /= 0 .or. x /= 30) error stop 'get from image 3'
      end do
      call atomic_define(done[3], 2)
      print '(a)', 'image 2 failed'
    else if (this_image() == 2) then
      sync images (1)
      fail image
    else
      do i = 1, 2
        x = 0
        do while (x < i)
          call atomic_ref(x, done)
        end do
        if (i == 1) call work(1200)
      end do
    end if
  case ('stopped')
    if (this_image() == 2) stop
    sync all (stat=stat)
    if (stat /= stat_stopped_image) error stop 'sync all'
    call co_sum(x, stat=stat)
    if (stat /= stat_stopped_image) error stop 'co_sum'
    sync images (2, stat=stat)
    if (stat /= stat_stopped_image) error stop 'sync images'
    if (image_status(2) /= stat_stopped_image .or. all(stopped_images() /= 2)) error stop 'image_status'
    x = y(5)[2, stat=stat]
    if (stat /= 0) error stop 'its memory is there'
    print '(a)', 'image 2 stopped'
  case ('alone')
    ! Image 3 stops at once, image 1 after it has synchronised with image 2. Only image 2's
    ! synchronisation with image 3 is an error.
    if (this_image() == 1) then
      sync images (2)
    else if (this_image() == 2) then
      sync images (1)
      sync images (3, stat=stat)
      if (stat /= stat_stopped_image) error stop 'sync images'
      print '(a)', 'image 3 stopped'
    end if
  case ('error')
    if (this_image() == 2) error stop 7
    sync all
  case ('stop')
    if (this_image() == 2) stop 3
    stop
  case ('far')
    call co_sum(x, result_image=99)
  end select
contains
  ! Compute for some milliseconds, without a call of the runtime.
  subroutine work(milliseconds)
    integer, intent(in) :: milliseconds
    integer(8) :: begin, now, rate
    call system_clock(begin, rate)
    now = begin
    do while (now - begin < milliseconds * rate / 1000)
      call system_clock(now)
    end do
  end subroutine
end program
