"""Tensor inputs and outputs: memory ownership, dtypes, shapes."""
import gc

import numpy as np
import pytest

import tapml

DTYPES = {"bool": np.bool_, "i8": np.int8, "i16": np.int16, "i32": np.int32, "i64": np.int64,
          "u8": np.uint8, "u16": np.uint16, "u32": np.uint32, "u64": np.uint64, "f16": np.float16,
          "f32": np.float32, "f64": np.float64}


def address(array):
    return array.__array_interface__["data"][0]


@pytest.mark.parametrize("name", DTYPES)
def test_every_dtype_goes_in_and_out(cpu, opencl, name):
    x = (np.arange(24).reshape(2, 3, 4) % 2).astype(DTYPES[name])
    for device in (cpu, opencl):
        t = tapml.tensor(x, device)
        assert (t.dtype, t.shape, t.ndim, t.size, t.nbytes) == (name, (2, 3, 4), 3, 24, x.nbytes)
        back = t.numpy()
        assert back.dtype == x.dtype
        np.testing.assert_array_equal(back, x)


def test_numpy_shares_memory_with_the_processor(cpu):
    x = np.arange(12, dtype=np.float32).reshape(3, 4)
    t = tapml.tensor(x, cpu)
    assert address(t.numpy()) == address(x)
    x[1, 2] = 100  # visible through the tensor
    assert t.numpy()[1, 2] == 100
    assert address(tapml.tensor(x, cpu, copy=False).numpy()) == address(x)
    assert address(tapml.tensor(x, cpu, copy=True).numpy()) != address(x)
    assert address(t.numpy(copy=True)) != address(x)


def test_the_array_keeps_the_memory_alive():
    session = tapml.cpu()
    t = tapml.tensor(np.arange(1000, dtype=np.int64) * 3, session, copy=True)
    view = t.numpy()
    session.close()
    del t, session
    gc.collect()
    np.testing.assert_array_equal(view, np.arange(1000) * 3)


def test_the_tensor_keeps_the_array_alive(cpu):
    t = tapml.tensor(np.arange(1000, dtype=np.int64) * 3, cpu, copy=False)
    gc.collect()
    np.testing.assert_array_equal(t.numpy(), np.arange(1000) * 3)


def test_views_are_read_only_unless_asked(cpu):
    t = tapml.tensor(np.zeros(3, np.float32), cpu)
    with pytest.raises(ValueError):
        t.numpy()[0] = 1
    t.numpy(writable=True)[0] = 1
    assert t.tolist() == [1, 0, 0]


def not_to_share():
    x = np.arange(12, dtype=np.float32).reshape(3, 4)
    read_only = x.copy()
    read_only.flags.writeable = False
    shifted = np.frombuffer(bytearray(49), np.uint8)[1:].view(np.float32)
    return {"row-major": x[:, ::2], "row-major order": x.T, "byte order": x.astype(">f4"),
            "read-only": read_only, "not aligned": shifted}


@pytest.mark.parametrize("why", not_to_share())
def test_unshareable_memory_is_copied_or_refused(cpu, why):
    x = not_to_share()[why]
    t = tapml.tensor(x, cpu)
    np.testing.assert_array_equal(t.numpy(), x)
    with pytest.raises(tapml.UserError, match=why):
        tapml.tensor(x, cpu, copy=False)


def test_other_memory_is_copied_or_refused(opencl, remote):
    x = np.arange(6, dtype=np.float32)
    for device, why in ((opencl, "not the host's"), (remote, "the tensor is at unix:")):
        t = tapml.tensor(x, device)
        np.testing.assert_array_equal(t.numpy(), x)
        for copy in (lambda: tapml.tensor(x, device, copy=False), lambda: t.numpy(copy=False)):
            with pytest.raises(tapml.UserError, match=why):
                copy()


@pytest.mark.parametrize("shape", [(), (0,), (3, 0, 2), (1,), (1, 1, 1)])
def test_empty_and_single_sizes(cpu, opencl, remote, shape):
    x = np.ones(shape, np.float32)
    for device in (cpu, opencl, remote):
        t = tapml.tensor(x, device)
        assert t.shape == shape and t.numpy().shape == shape
        np.testing.assert_array_equal(t.numpy(), x)
        assert tapml.allocate(shape, "f32", device).shape == shape


def test_numbers_and_lists(cpu):
    assert tapml.tensor(2.5, cpu, "f32").item() == 2.5
    t = tapml.tensor([[1, 2], [3, 4]], cpu, "i32")
    assert t.dtype == "i32" and t.tolist() == [[1, 2], [3, 4]]
    with pytest.raises(tapml.UserError, match="not an array"):
        tapml.tensor([[1], [2, 3]], cpu, "f32")


@pytest.mark.parametrize("dtype", ["f32", "float32", np.float32, np.dtype("f4"), np.dtype("<f4")])
def test_dtypes_by_any_name(cpu, dtype):
    assert tapml.allocate((2,), dtype, cpu).dtype == "f32"
    assert tapml.tensor(np.ones(2), cpu, dtype).dtype == "f32"


def test_unsupported_dtypes(cpu):
    for x in (np.zeros(2, complex), np.array(["a"]), np.array([object()])):
        with pytest.raises(tapml.UserError, match="the array's dtype is not supported"):
            tapml.tensor(x, cpu)
    for dtype in ("f31", np.complex64, object(), None):
        with pytest.raises(tapml.UserError, match="dtype is not supported|not a dtype"):
            tapml.allocate((1,), dtype, cpu)


def test_bf16_is_rounded_converted_and_never_guessed(cpu):
    x = np.array([1.0, 1.00390625, -3.14159, np.inf], np.float32)
    t = tapml.tensor(x, cpu, "bf16")
    assert t.dtype == "bf16" and t.nbytes == 8
    np.testing.assert_array_equal(t.bits(), [0x3F80, 0x3F80, 0xC049, 0x7F80])  # ties to even
    expected = (t.bits().astype(np.uint32) << 16).view(np.float32)
    np.testing.assert_array_equal(t.numpy(dtype="f32"), expected)
    np.testing.assert_array_equal(tapml.tensor(t.bits(), cpu).view("bf16").bits(), t.bits())
    try:
        import ml_dtypes
    except ImportError:
        with pytest.raises(tapml.UserError, match="NumPy has no bf16"):
            t.numpy()
    else:
        assert t.numpy().dtype == ml_dtypes.bfloat16
        assert tapml.tensor(t.numpy(), cpu, copy=True).dtype == "bf16"


def test_dlpack_shares_memory(cpu):
    x = np.arange(6, dtype=np.float32).reshape(2, 3)
    t = tapml.tensor(x, cpu)
    assert t.__dlpack_device__() == (1, 0)
    assert address(np.from_dlpack(t)) == address(x)

    class Foreign:  # not a NumPy array, only the protocol
        def __init__(self, array):
            self.array = array

        def __dlpack__(self, **kwargs):
            return self.array.__dlpack__(**kwargs)

        def __dlpack_device__(self):
            return self.array.__dlpack_device__()

    assert address(tapml.tensor(Foreign(x), cpu, copy=False).numpy()) == address(x)
    strided = tapml.tensor(Foreign(x.T), cpu)
    np.testing.assert_array_equal(strided.numpy(), x.T)
    again = tapml.tensor(Foreign(t), cpu, copy=False)
    assert address(again.numpy()) == address(x)


def test_dlpack_outlives_session_and_tensor():
    session = tapml.cpu()
    view = np.from_dlpack(tapml.tensor(np.arange(100) * 2, session, copy=True))
    session.close()
    del session
    gc.collect()
    np.testing.assert_array_equal(view, np.arange(100) * 2)


def test_dlpack_of_other_devices_is_refused(cpu):
    class OnGpu:
        def __dlpack__(self, **kwargs):
            raise AssertionError("not asked")

        def __dlpack_device__(self):
            return 2, 0

    class Refuses:
        def __dlpack__(self, **kwargs):
            raise BufferError("it needs a gradient")

        def __dlpack_device__(self):
            return 1, 0

    with pytest.raises(tapml.UserError, match="not in the memory of the host"):
        tapml.tensor(OnGpu(), cpu)
    with pytest.raises(tapml.UserError, match="it needs a gradient"):
        tapml.tensor(Refuses(), cpu)


def test_dlpack_of_memory_that_the_host_does_not_see(opencl):
    t = tapml.tensor(np.arange(3, dtype=np.int32), opencl)
    np.testing.assert_array_equal(np.from_dlpack(t), [0, 1, 2])
    with pytest.raises(BufferError):
        t.__dlpack__(copy=False)


def test_write_copy_and_to(cpu, opencl, remote):
    x = np.arange(4, dtype=np.float32)
    for device in (cpu, opencl, remote):
        t = tapml.allocate((4,), "f32", device)
        t.write(x)
        twin = t.copy()
        t.write(x + 1)
        np.testing.assert_array_equal(twin.numpy(), x)
        np.testing.assert_array_equal(t.to(cpu).numpy(), x + 1)
        assert t.to(device) is t
        with pytest.raises(tapml.UserError, match="does not fit"):
            t.write(x[:3])
        with pytest.raises(tapml.UserError, match="does not fit"):
            t.write(x.astype(np.float64))


def test_invalid_shapes(cpu):
    for shape in ((-1,), ("n", 2), (2**40, 2**40), (1.5,), None, (2**70,)):
        with pytest.raises(tapml.UserError, match="the shape cannot be allocated"):
            tapml.allocate(shape, "f32", cpu)
    with pytest.raises(tapml.LimitError):
        tapml.allocate((2**50,), "f32", cpu)
