"""A pass whose time is multiplied by a factor in all its parts."""

from __future__ import annotations

from specsim.costs.forms import AttentionForm, PassForm


def slowed(form: PassForm, factor: float) -> PassForm:
    """The form of a pass whose parts all take ``factor`` times longer, whatever it computes."""
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
    """A soft maximum of times scales by the factor if all of them do."""
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
