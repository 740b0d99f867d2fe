"""Python frames of what trains or serves on several ranks, beside torch or on top of it."""

from __future__ import annotations

TABLE = """
torch_xla/core/xla_model.py
    collective: rendezvous all_reduce all_gather all_to_all reduce_scatter mesh_reduce reduce_gradients
    device: mark_step wait_device_ops
torch_xla/torch_xla.py
    device: sync
horovod/torch/mpi_ops.py
    collective: *
horovod/common/basics.py
    rendezvous: init
    exit: shutdown
mpi4py/MPI.pyx
    collective: Allreduce allreduce Allgather allgather Allgatherv Alltoall alltoall Alltoallv Alltoallw Barrier barrier
        Bcast bcast Gather gather Gatherv Reduce reduce Reduce_scatter Reduce_scatter_block Scatter scatter Scatterv Scan
        scan Exscan exscan Fence Open Close Read_all Write_all Read_at_all Write_at_all Read_ordered Write_ordered Set_view
        Set_size Preallocate Allocate Allocate_shared
    lock: Lock Lock_all
    p2p: Send Recv send recv Ssend ssend Bsend Rsend Sendrecv sendrecv Sendrecv_replace Probe probe Mprobe mprobe Wait wait
        Waitall waitall Waitany waitany
    rendezvous: Split Create Dup Create_group Split_type Merge Connect Accept Spawn Init Init_thread
    exit: Finalize
mpi4py/MPI/Comm.pyx
    collective: Allreduce allreduce Allgather allgather Allgatherv Alltoall alltoall Alltoallv Alltoallw Barrier barrier
        Bcast bcast Gather gather Gatherv Reduce reduce Reduce_scatter Reduce_scatter_block Scatter scatter Scatterv Scan
        scan Exscan exscan Fence Open Close Read_all Write_all Read_at_all Write_at_all Read_ordered Write_ordered Set_view
        Set_size Preallocate Allocate Allocate_shared
    lock: Lock Lock_all
    p2p: Send Recv send recv Ssend ssend Bsend Rsend Sendrecv sendrecv Sendrecv_replace Probe probe Mprobe mprobe Wait wait
        Waitall waitall Waitany waitany
    rendezvous: Split Create Dup Create_group Split_type Merge Connect Accept Spawn Init Init_thread
    exit: Finalize
mpi4py/MPI.src/Comm.pyx
    collective: Allreduce allreduce Allgather allgather Allgatherv Alltoall alltoall Alltoallv Alltoallw Barrier barrier
        Bcast bcast Gather gather Gatherv Reduce reduce Reduce_scatter Reduce_scatter_block Scatter scatter Scatterv Scan
        scan Exscan exscan Fence Open Close Read_all Write_all Read_at_all Write_at_all Read_ordered Write_ordered Set_view
        Set_size Preallocate Allocate Allocate_shared
    lock: Lock Lock_all
    p2p: Send Recv send recv Ssend ssend Bsend Rsend Sendrecv sendrecv Sendrecv_replace Probe probe Mprobe mprobe Wait wait
        Waitall waitall Waitany waitany
    rendezvous: Split Create Dup Create_group Split_type Merge Connect Accept Spawn Init Init_thread
    exit: Finalize
mpi4py/MPI/Request.pyx
    p2p: Wait wait Waitall waitall Waitany waitany Waitsome waitsome Probe probe
mpi4py/MPI.src/Request.pyx
    p2p: Wait wait Waitall waitall Waitany waitany Waitsome waitsome Probe probe
mpi4py/MPI/Win.pyx
    collective: Fence Allocate Allocate_shared Create Free
    lock: Lock Lock_all
mpi4py/MPI.src/Win.pyx
    collective: Fence Allocate Allocate_shared Create Free
    lock: Lock Lock_all
deepspeed/comm/comm.py
    collective: @collectives
    p2p: @p2p
    rendezvous: init_distributed new_group
deepspeed/comm/torch.py
    collective: @collectives
    p2p: @p2p
    rendezvous: init_process_group __init__ new_group
deepspeed/runtime/pipe/p2p.py
    p2p: *
deepspeed/runtime/zero/stage3.py
    collective: __reduce_and_partition_ipg_grads __avg_scatter_grads
deepspeed/runtime/zero/stage_1_and_2.py
    collective: allreduce_bucket average_tensor allreduce_and_scatter
deepspeed/runtime/zero/partition_parameters.py
    collective: all_gather_coalesced _all_gather_dtype _allgather_params _allgather_params_coalesced _dist_allgather_fn
        _partition_gradient wait
deepspeed/runtime/zero/partitioned_param_coordinator.py
    collective: __all_gather_params __all_gather_params_
deepspeed/runtime/comm/coalesced_collectives.py
    collective: *
megatron/core/tensor_parallel/mappings.py
    collective: _reduce _gather_along_last_dim _gather_along_first_dim _reduce_scatter_along_first_dim
megatron/core/distributed/param_and_grad_buffer.py
    collective: start_grad_sync finish_grad_sync start_param_sync finish_param_sync
megatron/core/distributed/finalize_model_grads.py
    collective: *
megatron/core/pipeline_parallel/p2p_communication.py
    p2p: *
megatron/p2p_communication.py
    p2p: *
vllm/distributed/parallel_state.py
    collective: @collectives broadcast_object broadcast_tensor_dict
    p2p: @p2p send_tensor_dict recv_tensor_dict send_object recv_object
    rendezvous: init_distributed_environment initialize_model_parallel init_model_parallel_group
vllm/distributed/device_communicators/shm_broadcast.py
    queue: acquire_read acquire_write dequeue enqueue wait_until_ready
vllm/distributed/device_communicators/pynccl.py
    collective: @collectives all_gatherv reduce_scatterv
    rendezvous: __init__
sglang/srt/distributed/parallel_state.py
    collective: @collectives broadcast_object
    p2p: @p2p
vllm/distributed/communication_op.py
    collective: *
sglang/srt/distributed/communication_op.py
    collective: *
sglang/srt/utils/common.py
    collective: broadcast_pyobj
sglang/srt/utils.py
    collective: broadcast_pyobj
tensorrt_llm/_torch/distributed/communicator.py
    collective: @collectives tp_allgather tp_gather tp_broadcast pp_allgather pp_broadcast cp_allgather cp_broadcast
    p2p: @p2p send_object recv_object isend_object
accelerate/state.py
    collective: wait_for_everyone _goes_first
accelerate/accelerator.py
    collective: wait_for_everyone
accelerate/utils/operations.py
    collective: _gpu_gather _gpu_gather_object _gpu_broadcast gather gather_object broadcast broadcast_object_list
        reduce
transformers/trainer_pt_utils.py
    collective: distributed_concat distributed_broadcast_scalars
torchmetrics/utilities/distributed.py
    collective: gather_all_tensors _simple_gather_all_tensors
lightning_fabric/utilities/distributed.py
    collective: _gather_all_tensors _sync_ddp _sync_ddp_if_available _all_gather_ddp_if_available
pytorch_lightning/utilities/distributed.py
    collective: gather_all_tensors sync_ddp sync_ddp_if_available all_gather_ddp_if_available
fairseq/distributed/utils.py
    collective: all_gather_list all_reduce all_reduce_dict broadcast_object broadcast_tensors
detectron2/utils/comm.py
    collective: synchronize gather all_gather reduce_dict
mmengine/dist/dist.py
    collective: @collectives all_reduce_dict all_reduce_params collect_results sync_random_seed
mmcv/runner/dist_utils.py
    collective: allreduce_params allreduce_grads
horovod/tensorflow/mpi_ops.py
    collective: *
jax/experimental/multihost_utils.py
    collective: sync_global_devices broadcast_one_to_all process_allgather assert_equal
jax/_src/distributed.py
    rendezvous: initialize
orbax/checkpoint/multihost/utils.py
    collective: sync_global_processes reached_preemption broadcast_one_to_all barrier_sync_fn
orbax/checkpoint/utils.py
    collective: sync_global_devices sync_global_processes broadcast_one_to_all
jax/_src/array.py
    device: block_until_ready _value __array__
jax/_src/api.py
    device: block_until_ready
mxnet/ndarray/ndarray.py
    device: wait_to_read waitall asnumpy asscalar
cupy/cuda/stream.pyx
    device: synchronize
cupy/cuda/device.pyx
    device: synchronize
numba/cuda/cudadrv/driver.py
    device: synchronize
mindspore/common/tensor.py
    device: asnumpy
torch_mlu/mlu/__init__.py
    device: synchronize
colossalai/communication/collective.py
    collective: @collectives
apex/parallel/distributed.py
    collective: flat_dist_call allreduce_params
ray/_private/worker.py
    condition: get wait get_objects
    idle: main_loop
ray/util/collective/collective.py
    collective: @collectives
    p2p: @p2p
keras/utils/data_utils.py
    data: get
keras/src/trainers/data_adapters/py_dataset_adapter.py
    data: get
py4j/clientserver.py
    socket: send_command
py4j/java_gateway.py
    socket: send_command
mxnet/gluon/data/dataloader.py
    data: __next__
paddle/io/dataloader/dataloader_iter.py
    data: __next__ _get_data
"""
