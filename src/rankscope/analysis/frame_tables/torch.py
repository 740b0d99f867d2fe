"""Python frames of torch."""

from __future__ import annotations

TABLE = """
torch/distributed/distributed_c10d.py
    collective: @collectives _object_to_tensor_wait wait
    p2p: @p2p
    rendezvous: init_process_group new_group new_subgroups new_subgroups_by_enumeration
        _new_process_group_helper _new_group_with_tag _store_based_barrier split_group _world_is_ready
    exit: destroy_process_group _shutdown_backend _abort_process_group
torch/distributed/rendezvous.py
    rendezvous: *
torch/distributed/device_mesh.py
    rendezvous: init_device_mesh _init_process_groups __init__
torch/distributed/_functional_collectives.py
    collective: @collectives wait_tensor all_gather_tensor wait
torch/distributed/nn/functional.py
    collective: @collectives
torch/distributed/utils.py
    collective: _sync_module_states _sync_params_and_buffers _verify_param_shape_across_processes
torch/nn/parallel/distributed.py
    collective: _sync_params_and_buffers _sync_params _sync_buffers _sync_module_buffers _default_broadcast_coalesced
        _distributed_broadcast_coalesced
        _pre_forward
torch/nn/parallel/comm.py
    collective: broadcast broadcast_coalesced reduce_add reduce_add_coalesced gather scatter
torch/distributed/_state_dict_utils.py
    collective: _gather_state_dict _broadcast_tensors _broadcast_state_dict _distribute_tensors _distribute_state_dict
torch/distributed/checkpoint/utils.py
    collective: @collectives broadcast_object scatter_object
torch/distributed/fsdp/_flat_param.py
    collective: _all_gather_flat_param
torch/distributed/fsdp/flat_param.py
    collective: _all_gather_flat_param
torch/distributed/fsdp/_runtime_utils.py
    collective: _reduce_grad
torch/distributed/fsdp/_optim_utils.py
    collective: _all_gather_optim_state _allgather_state_info _communicate_optim_state _allgather_orig_param_states
torch/distributed/fsdp/_fully_shard/_fsdp_collectives.py
    collective: foreach_all_gather foreach_reduce foreach_all_gather_copy_out
torch/distributed/_composable/fsdp/_fsdp_collectives.py
    collective: foreach_all_gather foreach_reduce foreach_all_gather_copy_out
torch/distributed/tensor/_collective_utils.py
    collective: mesh_broadcast mesh_scatter
torch/distributed/_symmetric_memory/__init__.py
    rendezvous: rendezvous
    collective: barrier
torch/distributed/algorithms/join.py
    collective: __exit__ notify_join_context
torch/distributed/pipelining/schedules.py
    p2p: _batch_p2p _sorted_batch_p2p _wait_batch_p2p
torch/distributed/pipelining/stage.py
    p2p: _prepare_forward_infra _shape_inference
torch/distributed/elastic/utils/store.py
    store: *
torch/distributed/elastic/rendezvous/dynamic_rendezvous.py
    rendezvous: *
torch/distributed/elastic/rendezvous/static_tcp_rendezvous.py
    rendezvous: *
torch/distributed/elastic/rendezvous/c10d_rendezvous_backend.py
    rendezvous: *
torch/distributed/elastic/agent/server/api.py
    child: _invoke_run run _monitor_workers
    rendezvous: _rendezvous
    store: _exit_barrier
torch/distributed/elastic/multiprocessing/api.py
    child: wait join _poll
torch/distributed/checkpoint/state_dict_saver.py
    checkpoint: *
torch/distributed/checkpoint/state_dict_loader.py
    checkpoint: *
torch/distributed/checkpoint/filesystem.py
    checkpoint: *
torch/distributed/checkpoint/_async_process_executor.py
    checkpoint: *
torch/distributed/rpc/api.py
    exit: shutdown _wait_all_workers _all_gather
    socket: rpc_sync remote rpc_async
    rendezvous: _init_rpc_backend
torch/serialization.py
    checkpoint: save load _save _load _legacy_save _legacy_load persistent_load load_tensor
torch/multiprocessing/spawn.py
    child: join
torch/utils/data/dataloader.py
    data: _try_get_data _get_data _next_data __next__ _reset __init__
    exit: _shutdown_workers __del__
torch/utils/data/_utils/pin_memory.py
    idle: _pin_memory_loop do_one_step
torch/utils/data/_utils/worker.py
    idle: _worker_loop
torch/utils/file_baton.py
    file-baton: wait try_acquire
torch/utils/cpp_extension.py
    compile: _run_ninja_build _write_ninja_file_and_build_library _compile_cpp
torch/cuda/__init__.py
    device: synchronize _lazy_init
torch/cuda/streams.py
    device: synchronize wait
torch/accelerator/__init__.py
    device: synchronize
torch/xpu/__init__.py
    device: synchronize
torch/xpu/streams.py
    device: synchronize wait
torch_npu/npu/utils.py
    device: synchronize
torch_npu/npu/streams.py
    device: synchronize wait
habana_frameworks/torch/core/step_closure.py
    device: mark_step
habana_frameworks/torch/hpu/__init__.py
    device: synchronize
habana_frameworks/torch/hpu/streams.py
    device: synchronize
torch/cuda/memory.py
    device: empty_cache
torch/amp/grad_scaler.py
    device: <genexpr>
torch/cuda/amp/grad_scaler.py
    device: <genexpr>
torch/autograd/__init__.py
    backward: backward grad
torch/autograd/graph.py
    backward: _engine_run_backward
torch/_tensor.py
    backward: backward
torch/_inductor/async_compile.py
    compile: *
torch/_inductor/compile_worker/subproc_pool.py
    compile: *
torch/_inductor/compile_worker/__main__.py
    compile: main
torch/_inductor/codecache.py
    compile: *
torch/_inductor/compile_fx.py
    compile: *
torch/_dynamo/convert_frame.py
    compile: *
torch/distributed/__init__.py
    input: breakpoint interaction
"""
