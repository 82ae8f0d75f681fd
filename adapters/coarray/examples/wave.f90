! SPDX-License-Identifier: BSD-3-Clause
! A wave of shallow water in a ring-shaped channel. Each image has a section of the channel,
! and puts its edge cells into its neighbours' halos.
!
!     gfortran -O2 -fcoarray=lib wave.f90 -lcaf_rcx -o wave && rcxrun -n 4 ./wave
program wave
  implicit none
  integer, parameter :: cells = 240, steps = 2000, every = 400
  real(8), parameter :: dx = 1, dt = 0.02d0, gravity = 9.8d0, depth = 10
  real(8), allocatable :: h(:)[:], u(:)[:] ! height above the mean, and speed
  real(8), allocatable :: all_of(:)[:]
  integer :: me, n, left, right, from, mine, i, step

  me = this_image()
  n = num_images()
  left = modulo(me - 2, n) + 1
  right = modulo(me, n) + 1
  from = (me - 1) * cells / n
  mine = me * cells / n - from
  ! a coarray has the same shape on all images: that of the longest section, and its halo
  allocate (h(0:cells / n + 2)[*], u(0:cells / n + 2)[*], all_of(cells)[*])
  do i = 1, mine
    h(i) = exp(-0.02d0 * (from + i - 25)**2)
    u(i) = 0
  end do

  do step = 0, steps
    if (mod(step, every) == 0) call show()
    call exchange()
    ! first the speed, then the height, from the neighbours' new speed
    u(1:mine) = u(1:mine) - dt * gravity * (h(2:mine + 1) - h(1:mine)) / dx
    call exchange()
    h(1:mine) = h(1:mine) - dt * depth * (u(1:mine) - u(0:mine - 1)) / dx
  end do
contains
  ! Exchange the edge cells. Each image waits for its two neighbours only.
  subroutine exchange()
    call meet()
    h(mine_of(left) + 1)[left] = h(1)
    u(mine_of(left) + 1)[left] = u(1)
    h(0)[right] = h(mine)
    u(0)[right] = u(mine)
    call meet()
  end subroutine

  subroutine meet()
    if (n == 1) return
    if (left == right) then
      sync images (left)
    else
      sync images ([left, right])
    end if
  end subroutine

  integer function mine_of(image)
    integer, intent(in) :: image
    mine_of = image * cells / n - (image - 1) * cells / n
  end function

  ! Gather all heights on image 1, which draws them.
  subroutine show()
    character(*), parameter :: heights = ' .:-=+*#'
    integer :: k
    character(60) :: line

    all_of(from + 1:from + mine)[1] = h(1:mine)
    sync all
    if (me == 1) then
      do k = 1, len(line)
        i = 1 + nint((len(heights) - 1) * min(1d0, max(0d0, maxval(all_of(4 * k - 3:4 * k)))))
        line(k:k) = heights(i:i)
      end do
      print '(f6.1, a, a, a, es22.15)', step * dt, ' s |', line, '| volume ', sum(all_of)
    end if
    sync all
  end subroutine
end program
