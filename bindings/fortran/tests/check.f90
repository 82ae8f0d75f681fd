! SPDX-License-Identifier: BSD-3-Clause
! What the test programs share: a job, expectations, the forms of a call. A program that finds
! what it expects prints nothing.
module check
  use rcx
  implicit none

  ! Forms of a call, each with counts of both kinds: odd ones have default integers.
  enum, bind(c)
    enumerator :: BLOCKING = 1, BLOCKING_LONG, NONBLOCKING, NONBLOCKING_LONG, PERSISTENT, &
        PERSISTENT_LONG
  end enum
  integer, parameter :: FORMS = PERSISTENT_LONG

  type(rcx_context) :: context
  type(rcx_comm) :: world
  integer :: rank, ranks
  integer :: failures = 0
contains
  subroutine open_job()
    call rcx_init(context)
    world = rcx_world(context)
    rank = rcx_comm_rank(world)
    ranks = rcx_comm_size(world)
  end subroutine

  subroutine close_job()
    call rcx_finalize(context)
    if (failures > 0) error stop 'failed'
  end subroutine

  subroutine expect(is_true, what, form)
    logical, intent(in) :: is_true
    character(*), intent(in) :: what
    integer, intent(in), optional :: form

    if (is_true) return
    failures = failures + 1
    if (present(form)) then
      print '(a, i0, 3a, i0)', 'rank ', rank, ': ', what, ', form ', form
    else
      print '(a, i0, 2a)', 'rank ', rank, ': ', what
    end if
  end subroutine

  ! The text of what was got is in the message.
  subroutine expect_status(got, wanted, what)
    integer, intent(in) :: got, wanted
    character(*), intent(in) :: what

    call expect(got == wanted, what // ': ' // rcx_status_string(got))
  end subroutine

  ! Wait for the operation that a call of this form has begun. A persistent one runs twice.
  subroutine complete(request, form)
    type(rcx_request), intent(inout) :: request
    integer, intent(in) :: form

    if (form <= BLOCKING_LONG) then
      call expect(request == RCX_REQUEST_NULL, 'a blocking call has no request', form)
      return
    end if
    if (form >= PERSISTENT) then
      call rcx_start(request)
      call rcx_wait(request)
      call rcx_start(request)
    end if
    call rcx_wait(request)
    call rcx_request_free(request)
    call expect(request == RCX_REQUEST_NULL, 'a request that was freed is null', form)
  end subroutine
end module
