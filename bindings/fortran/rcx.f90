! SPDX-License-Identifier: BSD-3-Clause
! Module rcx: all that Fortran programs use. Most of it is made from rcx.h (module rcx_h); here
! is what has texts, logicals, optional parameters or arrays of RCX. README.md has the rules by
! which calls differ from those of C.
module rcx
  use rcx_h
  implicit none

  ! Why a communicator failed, see rcx_error_info_t. status: RCX_OK if it has not.
  type :: rcx_error_info
    integer :: status = RCX_OK
    integer, allocatable :: ranks(:)
    character(:), allocatable :: text
  end type

  ! A setting of the program, see rcx_setting_t. flags: 0 or RCX_SETTING_FINAL.
  type :: rcx_setting
    character(:), allocatable :: name, value
    integer :: flags = 0
  end type

  ! The types of variables of the default kinds, as this module was compiled. Integers of 0 and 1
  ! are default logicals.
  type(rcx_datatype), parameter :: RCX_INTEGER = rcx_datatype(merge(RCX_INT64%number, &
      RCX_INT32%number, storage_size(0) == 64))
  type(rcx_datatype), parameter :: RCX_LOGICAL = RCX_INTEGER
  type(rcx_datatype), parameter :: RCX_REAL = rcx_datatype(merge(RCX_FLOAT64%number, &
      RCX_FLOAT32%number, storage_size(0.0) == 64))
  type(rcx_datatype), parameter :: RCX_DOUBLE_PRECISION = RCX_FLOAT64
  type(rcx_datatype), parameter :: RCX_COMPLEX = rcx_datatype(merge(RCX_COMPLEX_DOUBLE%number, &
      RCX_COMPLEX_FLOAT%number, storage_size(0.0) == 64))
  type(rcx_datatype), parameter :: RCX_DOUBLE_COMPLEX = RCX_COMPLEX_DOUBLE
  type(rcx_datatype), parameter :: RCX_CHARACTER = RCX_BYTE

  interface rcx_id ! the id of a text of 128 characters at most
    module procedure id_of_text
  end interface
  interface rcx_request_free ! also all requests of an array that are not null
    module procedure free_requests
  end interface

  abstract interface
    ! Ends the processes of all ranks, see rcx_params_t.
    function rcx_bootstrap_abort_fn(code, text, arg) bind(c) result(answer)
      use, intrinsic :: iso_c_binding, only: c_int, c_ptr
      integer(c_int), value :: code
      type(c_ptr), value :: text, arg
      integer(c_int) :: answer
    end function
  end interface

  private :: id_of_text, free_requests, finish, c_text, text_of
contains
  ! ---- Status --------------------------------------------------------------------------------

  function rcx_status_string(status) result(text)
    use rcx_c, only: c_status_string
    integer, intent(in) :: status
    character(:), allocatable :: text

    text = text_of(c_status_string(status))
  end function

  function rcx_version() result(text)
    use rcx_c, only: c_version
    character(:), allocatable :: text

    text = text_of(c_version())
  end function

  ! ---- Contexts ------------------------------------------------------------------------------

  ! Create a context. Arguments are the fields of rcx_params_t; absent ones have its defaults.
  subroutine rcx_init(context, name, order, threads, timeout_ns, wakeup, progress_thread, id, &
      rank, size, bootstrap, bootstrap_abort, log, log_arg, settings, status)
    use, intrinsic :: iso_c_binding, only: c_char, c_funloc, c_int, c_int64_t, c_loc, &
        c_null_ptr, c_ptr, c_size_t
    use rcx_c, only: c_init, rcx_params, c_setting => rcx_setting
    type(rcx_context), intent(out) :: context
    character(*), intent(in), optional :: name
    integer, intent(in), optional :: order, threads
    integer(c_int64_t), intent(in), optional :: timeout_ns
    logical, intent(in), optional :: wakeup, progress_thread
    type(rcx_id), intent(in), optional, target :: id
    integer, intent(in), optional :: rank, size
    type(rcx_bootstrap), intent(in), optional :: bootstrap
    procedure(rcx_bootstrap_abort_fn), optional :: bootstrap_abort
    procedure(rcx_log_fn), optional :: log
    type(c_ptr), intent(in), optional :: log_arg
    type(rcx_setting), intent(in), optional :: settings(:)
    integer, intent(out), optional :: status
    type :: pair
      character(:, c_char), allocatable :: name, value
    end type
    type(rcx_params) :: params
    type(c_setting), allocatable, target :: c_settings(:)
    type(pair), allocatable, target :: pairs(:)
    character(:, c_char), allocatable, target :: c_name
    integer :: i

    if (present(name)) then
      c_name = c_text(name)
      params%name = c_loc(c_name)
      call set(RCX_PARAM_NAME)
    end if
    if (present(order)) then
      params%order = order
      call set(RCX_PARAM_ORDER)
    end if
    if (present(threads)) then
      params%threads = threads
      call set(RCX_PARAM_THREADS)
    end if
    if (present(timeout_ns)) then
      params%timeout_ns = timeout_ns
      call set(RCX_PARAM_TIMEOUT)
    end if
    if (present(wakeup)) then
      params%wakeup = merge(1, 0, wakeup)
      call set(RCX_PARAM_WAKEUP)
    end if
    if (present(progress_thread)) then
      params%progress_thread = merge(1, 0, progress_thread)
      call set(RCX_PARAM_PROGRESS)
    end if
    if (present(id)) then
      params%id = c_loc(id)
      if (present(rank)) params%rank = rank
      if (present(size)) params%size = size
      call set(RCX_PARAM_ID)
    end if
    if (present(bootstrap)) then
      params%bootstrap = bootstrap
      call set(RCX_PARAM_BOOTSTRAP)
    end if
    if (present(bootstrap_abort)) then
      params%bootstrap_abort = c_funloc(bootstrap_abort)
      call set(RCX_PARAM_ABORT)
    end if
    if (present(log)) then
      params%log = c_funloc(log)
      if (present(log_arg)) params%log_arg = log_arg
      call set(RCX_PARAM_LOG)
    end if
    if (present(settings)) then
      allocate (c_settings(ubound(settings, 1)), pairs(ubound(settings, 1)))
      do i = 1, ubound(settings, 1)
        pairs(i)%name = c_text(settings(i)%name)
        pairs(i)%value = c_text(settings(i)%value)
        c_settings(i)%name = c_loc(pairs(i)%name)
        c_settings(i)%value = c_loc(pairs(i)%value)
        c_settings(i)%flags = settings(i)%flags
      end do
      params%settings = c_loc(c_settings)
      params%setting_count = int(ubound(settings, 1), c_size_t)
      call set(RCX_PARAM_SETTINGS)
    end if
    call finish('rcx_init', c_init(params, context%handle), c_null_ptr, status)
  contains
    subroutine set(field)
      integer(c_int), intent(in) :: field

      params%field_mask = ior(params%field_mask, int(field, c_int64_t))
    end subroutine
  end subroutine

  ! Make the id of a new job. address: where to listen, see rcx_get_id() of rcx.h.
  subroutine rcx_get_id(id, address, status)
    use, intrinsic :: iso_c_binding, only: c_char, c_loc, c_null_ptr, c_ptr
    use rcx_c, only: c_get_id
    type(rcx_id), intent(out) :: id
    character(*), intent(in), optional :: address
    integer, intent(out), optional :: status
    character(:, c_char), allocatable, target :: c_address
    type(c_ptr) :: given

    given = c_null_ptr
    if (present(address)) then
      c_address = c_text(address)
      given = c_loc(c_address)
    end if
    call finish('rcx_get_id', c_get_id(given, id), c_null_ptr, status)
  end subroutine

  ! The text of an id, to be passed on.
  function rcx_id_text(id) result(text)
    use, intrinsic :: iso_c_binding, only: c_null_char
    type(rcx_id), intent(in) :: id
    character(:), allocatable :: text
    integer :: i

    allocate (character(count(id%text /= c_null_char)) :: text)
    do i = 1, len(text)
      text(i:i) = id%text(i)
    end do
  end function

  function id_of_text(text) result(id)
    use, intrinsic :: iso_c_binding, only: c_null_char
    character(*), intent(in) :: text
    type(rcx_id) :: id
    integer :: i

    id%text = c_null_char
    do i = 1, min(len_trim(text), size(id%text) - 1)
      id%text(i) = text(i:i)
    end do
  end function

  ! End the job. Returns only if that is not possible.
  subroutine rcx_abort(context, code, text, status)
    use, intrinsic :: iso_c_binding, only: c_char, c_loc, c_null_ptr, c_ptr
    use rcx_c, only: c_abort
    type(rcx_context), intent(in) :: context
    integer, intent(in) :: code
    character(*), intent(in), optional :: text
    integer, intent(out), optional :: status
    character(:, c_char), allocatable, target :: c_message
    type(c_ptr) :: given

    given = c_null_ptr
    if (present(text)) then
      c_message = c_text(text)
      given = c_loc(c_message)
    end if
    call finish('rcx_abort', c_abort(context%handle, code, given), c_null_ptr, status)
  end subroutine

  ! Write the last operations to a file, for rcx_trace.
  subroutine rcx_dump(context, path, status)
    use, intrinsic :: iso_c_binding, only: c_char, c_loc, c_null_ptr
    use rcx_c, only: c_dump
    type(rcx_context), intent(in) :: context
    character(*), intent(in) :: path
    integer, intent(out), optional :: status
    character(:, c_char), allocatable, target :: c_path

    c_path = c_text(path)
    call finish('rcx_dump', c_dump(context%handle, c_loc(c_path)), c_null_ptr, status)
  end subroutine

  ! ---- Communicators -------------------------------------------------------------------------

  ! Change a setting of a communicator, see rcx_comm_set() of rcx.h.
  subroutine rcx_comm_set(comm, name, value, status)
    use, intrinsic :: iso_c_binding, only: c_char, c_loc
    use rcx_c, only: c_comm_set
    type(rcx_comm), intent(in) :: comm
    character(*), intent(in) :: name, value
    integer, intent(out), optional :: status
    character(:, c_char), allocatable, target :: c_name, c_value

    c_name = c_text(name)
    c_value = c_text(value)
    call finish('rcx_comm_set', c_comm_set(comm%handle, c_loc(c_name), c_loc(c_value)), &
        comm%handle, status)
  end subroutine

  subroutine rcx_comm_set_name(comm, name, status)
    use, intrinsic :: iso_c_binding, only: c_char, c_loc
    use rcx_c, only: c_comm_set_name
    type(rcx_comm), intent(in) :: comm
    character(*), intent(in) :: name
    integer, intent(out), optional :: status
    character(:, c_char), allocatable, target :: c_name

    c_name = c_text(name)
    call finish('rcx_comm_set_name', c_comm_set_name(comm%handle, c_loc(c_name)), comm%handle, &
        status)
  end subroutine

  ! '' if it has none.
  function rcx_comm_name(comm) result(text)
    use rcx_c, only: c_comm_name
    type(rcx_comm), intent(in) :: comm
    character(:), allocatable :: text

    text = text_of(c_comm_name(comm%handle))
  end function

  ! ---- Failures ------------------------------------------------------------------------------

  subroutine rcx_comm_error(comm, info, status)
    use, intrinsic :: iso_c_binding, only: c_f_pointer, c_int
    use rcx_c, only: c_comm_error, c_error_info => rcx_error_info
    type(rcx_comm), intent(in) :: comm
    type(rcx_error_info), intent(out) :: info
    integer, intent(out), optional :: status
    type(c_error_info) :: found
    integer(c_int), pointer :: ranks(:)
    integer :: answer

    answer = c_comm_error(comm%handle, found)
    if (answer == RCX_OK) then
      info%status = found%status
      info%text = text_of(found%text)
      allocate (info%ranks(found%rank_count))
      if (found%rank_count > 0) then
        call c_f_pointer(found%ranks, ranks, [found%rank_count])
        info%ranks = ranks
      end if
    end if
    call finish('rcx_comm_error', answer, comm%handle, status)
  end subroutine

  ! The ranks that have failed by the last agreement or shrink.
  subroutine rcx_comm_failed(comm, ranks, status)
    use, intrinsic :: iso_c_binding, only: c_f_pointer, c_int, c_null_ptr, c_ptr
    use rcx_c, only: c_comm_failed
    type(rcx_comm), intent(in) :: comm
    integer, allocatable, intent(out) :: ranks(:)
    integer, intent(out), optional :: status
    integer(c_int), pointer :: found(:)
    type(c_ptr) :: at
    integer(c_int) :: n
    integer :: answer

    n = 0
    at = c_null_ptr
    answer = c_comm_failed(comm%handle, n, at)
    allocate (ranks(n))
    if (n > 0) then
      call c_f_pointer(at, found, [n])
      ranks = found
    end if
    call finish('rcx_comm_failed', answer, comm%handle, status)
  end subroutine

  ! ---- Ops, and exact sums -------------------------------------------------------------------

  function rcx_op_supported(op, datatype) result(answer)
    use rcx_c, only: c_op_supported
    type(rcx_op), intent(in) :: op
    type(rcx_datatype), intent(in) :: datatype
    logical :: answer

    answer = c_op_supported(op%number, datatype%number) /= 0
  end function

  subroutine rcx_exact32_add(sum, x)
    use, intrinsic :: iso_c_binding, only: c_f_pointer, c_float, c_loc, c_size_t
    use rcx_c, only: c_exact32_add
    type(rcx_exact32), intent(inout) :: sum
    real(c_float), intent(in), contiguous, target :: x(..)
    real(c_float), pointer :: all_of_x(:)

    call c_f_pointer(c_loc(x), all_of_x, [size(x, kind=c_size_t)])
    call c_exact32_add(sum, all_of_x, size(x, kind=c_size_t))
  end subroutine

  subroutine rcx_exact64_add(sum, x)
    use, intrinsic :: iso_c_binding, only: c_double, c_f_pointer, c_loc, c_size_t
    use rcx_c, only: c_exact64_add
    type(rcx_exact64), intent(inout) :: sum
    real(c_double), intent(in), contiguous, target :: x(..)
    real(c_double), pointer :: all_of_x(:)

    call c_f_pointer(c_loc(x), all_of_x, [size(x, kind=c_size_t)])
    call c_exact64_add(sum, all_of_x, size(x, kind=c_size_t))
  end subroutine

  ! Add x * y. If one has more elements than the other, these are ignored.
  subroutine rcx_exact64_add_product(sum, x, y)
    use, intrinsic :: iso_c_binding, only: c_double, c_f_pointer, c_loc, c_size_t
    use rcx_c, only: c_exact64_add_product
    type(rcx_exact64), intent(inout) :: sum
    real(c_double), intent(in), contiguous, target :: x(..), y(..)
    real(c_double), pointer :: all_of_x(:), all_of_y(:)
    integer(c_size_t) :: n

    n = min(size(x, kind=c_size_t), size(y, kind=c_size_t))
    call c_f_pointer(c_loc(x), all_of_x, [n])
    call c_f_pointer(c_loc(y), all_of_y, [n])
    call c_exact64_add_product(sum, all_of_x, all_of_y, n)
  end subroutine

  subroutine rcx_exact64_add_product32(sum, x, y)
    use, intrinsic :: iso_c_binding, only: c_f_pointer, c_float, c_loc, c_size_t
    use rcx_c, only: c_exact64_add_product32
    type(rcx_exact64), intent(inout) :: sum
    real(c_float), intent(in), contiguous, target :: x(..), y(..)
    real(c_float), pointer :: all_of_x(:), all_of_y(:)
    integer(c_size_t) :: n

    n = min(size(x, kind=c_size_t), size(y, kind=c_size_t))
    call c_f_pointer(c_loc(x), all_of_x, [n])
    call c_f_pointer(c_loc(y), all_of_y, [n])
    call c_exact64_add_product32(sum, all_of_x, all_of_y, n)
  end subroutine

  ! ---- Requests ------------------------------------------------------------------------------

  ! done and status as of rcx_test() of rcx.h: status is RCX_OK while the operation goes on.
  subroutine rcx_test(request, done, status)
    use, intrinsic :: iso_c_binding, only: c_int, c_null_ptr
    use rcx_c, only: c_test
    type(rcx_request), intent(in) :: request
    logical, intent(out) :: done
    integer, intent(out), optional :: status
    integer(c_int) :: is_done
    integer :: answer

    is_done = 0
    answer = c_test(request%handle, is_done)
    done = is_done /= 0
    call finish('rcx_test', answer, c_null_ptr, status)
  end subroutine

  ! How a request is executed; '' for no request.
  function rcx_request_method(request) result(text)
    use rcx_c, only: c_request_method
    type(rcx_request), intent(in) :: request
    character(:), allocatable :: text

    text = text_of(c_request_method(request%handle))
  end function

  subroutine free_requests(requests, status)
    type(rcx_request), intent(inout) :: requests(:)
    integer, intent(out), optional :: status
    integer :: i, answer, first

    first = RCX_OK
    do i = 1, size(requests)
      if (requests(i) == RCX_REQUEST_NULL) cycle
      call rcx_request_free(requests(i), answer)
      if (first == RCX_OK) first = answer
    end do
    block
      use, intrinsic :: iso_c_binding, only: c_null_ptr
      call finish('rcx_request_free', first, c_null_ptr, status)
    end block
  end subroutine

  ! ---- Inside --------------------------------------------------------------------------------

  ! Store a status, or end the program if it is an error and status is absent.
  subroutine finish(function, answer, comm, status)
    use, intrinsic :: iso_c_binding, only: c_char, c_int, c_null_char, c_ptr
    character(*), intent(in) :: function
    integer(c_int), intent(in) :: answer
    type(c_ptr), intent(in) :: comm
    integer(c_int), intent(out), optional :: status
    interface
      subroutine rcx_f_finish(function, got, comm, status) bind(c)
        import
        character(kind=c_char), intent(in) :: function(*)
        integer(c_int), value :: got
        type(c_ptr), value :: comm
        integer(c_int), intent(out), optional :: status
      end subroutine
    end interface

    call rcx_f_finish(function // c_null_char, answer, comm, status)
  end subroutine

  ! A text for C, without the blanks that pad a variable.
  function c_text(text) result(c_string)
    use, intrinsic :: iso_c_binding, only: c_char, c_null_char
    character(*), intent(in) :: text
    character(:, c_char), allocatable :: c_string

    c_string = trim(text) // c_null_char
  end function

  ! The text at an address, which may be null.
  function text_of(address) result(text)
    use, intrinsic :: iso_c_binding, only: c_associated, c_char, c_f_pointer, c_ptr, c_size_t
    type(c_ptr), intent(in) :: address
    character(:), allocatable :: text
    character(kind=c_char), pointer :: characters(:)
    integer(c_size_t) :: i, n
    interface
      function strlen(text) bind(c) result(n)
        import
        type(c_ptr), value :: text
        integer(c_size_t) :: n
      end function
    end interface

    n = 0
    if (c_associated(address)) n = strlen(address)
    allocate (character(n) :: text)
    if (n == 0) return
    call c_f_pointer(address, characters, [n])
    do i = 1, n
      text(i:i) = characters(i)
    end do
  end function
end module

! What call.c ends the program by.
subroutine rcx_f_stop(text, n) bind(c)
  use, intrinsic :: iso_c_binding, only: c_char, c_size_t
  implicit none
  integer(c_size_t), value :: n
  character(kind=c_char), intent(in) :: text(n)
  character(n) :: line
  integer(c_size_t) :: i

  do i = 1, n
    line(i:i) = text(i)
  end do
  error stop line
end subroutine
