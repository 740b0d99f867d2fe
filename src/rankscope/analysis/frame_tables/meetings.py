"""Python frames in which ranks meet, of servers, trainers and other frameworks that bring their own communication."""

from __future__ import annotations

TABLE = """
vllm/distributed/device_communicators/base_device_communicator.py
    collective: @collectives all_gatherv reduce_scatterv
vllm/distributed/device_communicators/cuda_communicator.py
    collective: @collectives all_gatherv reduce_scatterv dispatch combine
vllm/distributed/device_communicators/all2all.py
    collective: dispatch combine naive_multicast
vllm/distributed/device_communicators/custom_all_reduce.py
    collective: all_reduce custom_all_reduce
vllm/distributed/device_communicators/quick_all_reduce.py
    collective: quick_all_reduce
vllm/distributed/device_communicators/symm_mem.py
    collective: all_reduce
vllm/distributed/device_communicators/xpu_communicator.py
    collective: @collectives
vllm_ascend/distributed/communicator.py
    collective: @collectives dispatch combine
sglang/srt/distributed/device_communicators/pynccl.py
    collective: @collectives
sglang/srt/distributed/device_communicators/custom_all_reduce.py
    collective: all_reduce custom_all_reduce
sglang/srt/layers/dp_attention.py
    collective: dp_gather_partial dp_gather_replicate dp_reduce_scatter_tensor dp_scatter attn_tp_all_gather
        attn_tp_reduce_scatter_tensor
deep_ep/buffer.py
    collective: dispatch combine internode_dispatch internode_combine low_latency_dispatch low_latency_combine
deep_ep/buffers/legacy.py
    collective: dispatch combine low_latency_dispatch low_latency_combine
lmdeploy/pytorch/distributed.py
    collective: @collectives
composer/utils/dist.py
    collective: @collectives
    rendezvous: initialize_dist
lightning/fabric/utilities/distributed.py
    collective: _gather_all_tensors _sync_ddp _sync_ddp_if_available _all_gather_ddp_if_available
lightning/pytorch/strategies/ddp.py
    collective: barrier broadcast reduce
lightning/pytorch/strategies/fsdp.py
    collective: barrier broadcast reduce
lightning/pytorch/strategies/deepspeed.py
    collective: barrier broadcast reduce
pytorch_lightning/strategies/ddp.py
    collective: barrier broadcast reduce
pytorch_lightning/plugins/training_type/ddp.py
    collective: barrier broadcast reduce
pytorch_lightning/strategies/deepspeed.py
    collective: barrier broadcast reduce
ignite/distributed/utils.py
    collective: @collectives
ignite/distributed/comp_models/native.py
    collective: _do_all_reduce _do_all_gather _do_broadcast barrier
torchrec/distributed/dist_data.py
    collective: _wait_impl
torchrec/distributed/comm_ops.py
    collective: _wait_impl
apex/parallel/distributed.py
    collective: allreduce_bucket allreduce_maybe_retain flat_dist_call
fairscale/nn/data_parallel/fully_sharded_data_parallel.py
    collective: _rebuild_full_params
colossalai/zero/gemini/chunk/chunk.py
    collective: __gather __scatter
tutel/impls/communicate.py
    collective: *
byteps/torch/ops.py
    collective: synchronize push_pull
bagua/torch_api/communication.py
    collective: @collectives
horovod/tensorflow/functions.py
    collective: broadcast_variables broadcast_object allgather_object
horovod/torch/functions.py
    collective: broadcast_parameters broadcast_object broadcast_optimizer_state allgather_object
horovod/mxnet/mpi_ops.py
    collective: *
oneccl_bindings_for_pytorch/__init__.py
    collective: *
cupyx/distributed/_nccl_comm.py
    collective: all_reduce all_gather all_to_all barrier broadcast gather reduce reduce_scatter scatter
    p2p: send recv send_recv
    rendezvous: __init__ _init_with_tcp_store _init_with_mpi init_process_group
cupyx/distributed/_init.py
    rendezvous: init_process_group
cupy_backends/cuda/libs/nccl.pyx
    rendezvous: __init__ initAll
vllm/v1/engine/utils.py
    rendezvous: wait_for_engine_startup
torch/distributed/elastic/rendezvous/etcd_rendezvous.py
    rendezvous: *
pyspark/taskcontext.py
    collective: barrier allGather
xgboost/collective.py
    collective: allreduce broadcast
    rendezvous: init
xgboost/rabit.py
    collective: allreduce broadcast
    rendezvous: init
dgl/distributed/dist_context.py
    rendezvous: initialize
dgl/distributed/rpc_client.py
    rendezvous: connect_to_server
tensorflow/python/distribute/cross_device_ops.py
    collective: reduce batch_reduce broadcast _batch_all_reduce _do_batch_all_reduce
tensorflow/python/distribute/cross_device_utils.py
    collective: all_reduce all_gather batch_all_reduce
tensorflow/python/ops/collective_ops.py
    collective: *
paddle/distributed/communication/stream/all_reduce.py
    collective: *
paddle/distributed/communication/all_reduce.py
    collective: *
paddle/distributed/communication/all_gather.py
    collective: *
paddle/distributed/communication/all_to_all.py
    collective: *
paddle/distributed/communication/broadcast.py
    collective: *
paddle/distributed/communication/group.py
    collective: barrier wait
paddle/distributed/collective.py
    collective: barrier
    rendezvous: new_group
paddle/distributed/fleet/meta_parallel/pp_utils/p2p_communication.py
    p2p: *
mindspore/communication/comm_func.py
    collective: @collectives
    p2p: @p2p
tensorrt_llm/_utils.py
    collective: mpi_barrier mpi_broadcast mpi_allgather
    p2p: mpi_send mpi_recv
megatron/core/dist_checkpointing/strategies/state_dict_saver.py
    collective: save_state_dict_async_finalize
megatron/training/utils.py
    collective: reduce_max_stat_across_model_parallel_group logical_and_across_model_parallel_group
neuronx_distributed/parallel_layers/comm.py
    collective: @collectives
"""
