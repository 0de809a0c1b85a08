"""Keys of a ``config.json``: which are read, which change no price, and which words make an unknown one suspect."""

from __future__ import annotations

# other names of what ModelConfig calls by the first
ALIASES = {
    "num_experts": ("num_local_experts", "n_routed_experts"),
    "num_experts_per_tok": ("experts_per_token",),
    "num_mtp_layers": ("num_nextn_predict_layers", "mtp_num_hidden_layers"),
}

# keys that are read, here or by ModelConfig
READ = {
    *("model_type", "hidden_size", "num_hidden_layers", "num_attention_heads", "num_key_value_heads", "head_dim"),
    *("intermediate_size", "vocab_size", "tie_word_embeddings", "attention_bias", "mlp_matrices"),
    *("max_position_embeddings", "draft_vocab_size", "text_config", "quantization_config", "torch_dtype", "dtype"),
    *("layer_types", "sliding_window", "use_sliding_window", "max_window_layers", "sliding_window_pattern"),
    *("num_experts", "num_experts_per_tok", "num_mtp_layers", "moe_intermediate_size", "n_shared_experts"),
    *("shared_expert_intermediate_size", "first_k_dense_replace", "moe_layer_freq", "mlp_only_layers"),
    *("decoder_sparse_step", "attn_output_gate", "full_attention_interval"),
    *("kv_lora_rank", "q_lora_rank", "qk_rope_head_dim", "qk_nope_head_dim", "v_head_dim"),
    *("linear_num_key_heads", "linear_num_value_heads", "linear_key_head_dim", "linear_value_head_dim"),
    *("linear_conv_kernel_dim", "mamba_ssm_dtype"),
    *("index_topk", "index_n_heads", "index_head_dim"),
    *("linear_gate_rank", "global_head_dim", "num_global_key_value_heads", "attention_k_eq_v", "use_qk_norm"),
    *("query_key_norm", "gpt_oss_vectors", "shared_intermediate_size", "shared_expert_gate", "dense_layers"),
    *(other for names in ALIASES.values() for other in names),
}

# keys that sound like architecture and change no shape that is priced: the choice of experts, initialisation, drop-out,
# positions, biases of a fraction of a percent, the vision tower (text is served), what training used
HARMLESS = {
    *("n_group", "topk_group", "moe_group_size", "num_experts_groups", "norm_topk_prob", "routed_scaling_factor"),
    *("scoring_func", "topk_method", "router_aux_loss_coef", "output_router_logits", "router_jitter_noise", "ep_size"),
    *("aux_loss_alpha", "seq_aux", "swiglu_limit", "layer_norm_epsilon", "layer_norm_eps", "attention_dropout"),
    *("hidden_dropout", "hidden_act", "hidden_activation", "mlp_bias", "initial_context_length", "pretraining_tp"),
    *("rope_scaling", "rope_parameters", "rope_theta", "vision_config", "auto_map", "chunk_size_feed_forward"),
    *("num_beams", "num_beam_groups", "num_return_sequences", "attn_implementation", "_attn_implementation"),
    *("mtp_use_dedicated_embeddings", "query_pre_attn_scalar", "attn_logit_softcapping", "final_logit_softcapping"),
    *("eagle_config", "specsim_source", "specsim_published_parameters", "id2label", "label2id", "task_specific_params"),
    *("output_attentions", "output_hidden_states", "partial_rotary_factor", "rotary_dim", "image_size"),
    *("moe_router_activation_func", "moe_renormalize", "num_expert_group", "use_grouped_topk", "mla_use_nope"),
    *("original_max_position_embeddings", "indexer_rope_interleave"),
    *("use_routing_bias", "qk_norm_type", "attn_temperature_tuning", "attn_scale", "use_bidirectional_attention"),
    *("for_llm_compressor", "vocab_size_per_layer_input", "mm_tokens_per_image", "use_double_wide_mlp"),
}
# keys of a head in speculators' format that stand beside the configuration of its layer
SPECULATORS = ("draft_vocab_size", "tie_word_embeddings", "torch_dtype", "dtype", "quantization_config")
# whole numbers that only this module reads, so that nobody else would find their mistakes
COUNTS = (
    *("n_shared_experts", "shared_expert_intermediate_size", "first_k_dense_replace", "moe_layer_freq"),
    *("decoder_sparse_step", "full_attention_interval", "max_window_layers", "sliding_window_pattern"),
)
ARCHITECTURE_WORDS = (
    *("expert", "moe", "lora", "rank", "mamba", "ssm", "conv", "block", "layer", "attn", "attention", "head", "window"),
    *("index", "compress", "mtp", "nextn", "predict", "hash", "recurrent", "chunk", "sparse", "hc_", "altup", "laurel"),
    *("mlp", "ffn", "_dim", "_size", "num_", "n_", "width", "depth", "kv_", "share", "linear", "group"),
)
