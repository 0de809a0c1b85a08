"""A pass that takes longer by a factor in all its parts."""

from __future__ import annotations

from specsim.costs.forms import AttentionForm, PassForm


def slowed(form: PassForm, factor: float) -> PassForm:
    """The form of a pass of which every part takes ``factor`` times as long, whatever it computes."""
    if factor == 1.0:
        return form
    return PassForm(
        factor * form.by_tokens,
        factor * form.by_logit_rows,
        factor * form.by_fused_tokens,
        factor * form.by_corrected_rows,
        _slowed_attention(form.attention, factor),
    )


def _slowed_attention(form: AttentionForm, factor: float) -> AttentionForm:
    """Its soft maximum of times grows by the factor if they all do."""
    return form._replace(
        kv=factor * form.kv,
        pair=factor * form.pair,
        prompt_pair=factor * form.prompt_pair,
        state=factor * form.state,
        token=factor * form.token,
        per_kv_head=factor * form.per_kv_head,
        ramp=factor * form.ramp,
        bandwidth=form.bandwidth / factor,
        flops=form.flops / factor,
    )
