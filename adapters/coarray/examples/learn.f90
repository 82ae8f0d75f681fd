! SPDX-License-Identifier: BSD-3-Clause
! A small neural network learns a function. The samples are distributed over the images, and
! the gradients are summed over them in each step.
!
!     gfortran -O2 -fcoarray=lib learn.f90 -lcaf_rcx -o learn && rcxrun -n 4 ./learn
program learn
  implicit none
  integer, parameter :: dp = kind(1d0), samples = 480, width = 16, steps = 2000
  real(dp) :: w(width), b(width), v(width), c        ! the network: v . tanh(w x + b) + c
  real(dp) :: gradient(3 * width + 1), hidden(width), x, y, error, loss
  integer :: i, step, first, last

  call start_with(w, b, v, c)
  first = samples * (this_image() - 1) / num_images() + 1
  last = samples * this_image() / num_images()
  do step = 1, steps
    gradient = 0
    loss = 0
    do i = first, last
      x = -1 + 2 * real(i - 1, dp) / (samples - 1)
      y = sin(3 * x)
      hidden = tanh(w * x + b)
      error = dot_product(v, hidden) + c - y
      loss = loss + error**2
      gradient = gradient + error * [v * (1 - hidden**2) * x, v * (1 - hidden**2), hidden, 1d0]
    end do
    call co_sum(gradient)
    gradient = gradient / samples
    w = w - 0.1_dp * gradient(:width)
    b = b - 0.1_dp * gradient(width + 1:2 * width)
    v = v - 0.1_dp * gradient(2 * width + 1:3 * width)
    c = c - 0.1_dp * gradient(3 * width + 1)
  end do
  call co_sum(loss, result_image=1)
  if (this_image() == 1) print '(i0, a, es10.3)', num_images(), ' images, mean square error', &
    loss / samples
contains
  ! Initialise the parameters on image 1, and broadcast them.
  subroutine start_with(w, b, v, c)
    real(dp), intent(out) :: w(:), b(:), v(:), c
    integer :: i

    if (this_image() == 1) then
      do i = 1, size(w)
        w(i) = 2 * sin(7d0 * i)
        b(i) = cos(5d0 * i)
        v(i) = 0.5_dp * sin(3d0 * i)
      end do
      c = 0
    end if
    call co_broadcast(w, 1)
    call co_broadcast(b, 1)
    call co_broadcast(v, 1)
    call co_broadcast(c, 1)
  end subroutine
end program
