"""marian_names.py - Marian's configuration and tensors for an architecture of [model]; for marian_run.py.

An architecture is a dictionary of options, as share/conf/options.def names them; weights have the names of
train/model/params.def. Marian computes y = x W, so its matrices are ours transposed.
"""
import numpy as np

ACTIVATIONS = {"relu": "relu", "silu": "swish", "gelu": "gelu"}


def config_of(facts, vocabulary):
    """The text of special:model.yml."""
    tied = facts.get("tied_embeddings", "all")
    post, norm = facts.get("norm_place") == "post", "r" if facts.get("norm") == "rms" else "n"
    ssru = facts.get("decoder_self") == "ssru"
    values = {
        "type": "transformer", "version": "v1.12.0", "dim-emb": facts["d_model"],
        "dim-vocabs": f"[{vocabulary}, {vocabulary}]", "max-length": 1024,
        "enc-depth": facts["encoder_layers"], "dec-depth": facts["decoder_layers"],
        "transformer-heads": facts["heads"], "transformer-dim-ffn": facts["d_ff"],
        "transformer-decoder-dim-ffn": facts.get("decoder_ff", 0), "transformer-ffn-depth": 2,
        "transformer-decoder-ffn-depth": 0, "transformer-ffn-activation": ACTIVATIONS[facts.get("activation", "relu")],
        "transformer-preprocess": '""' if post else norm, "transformer-postprocess": "da" + norm if post else "da",
        "transformer-postprocess-emb": "d" + norm if facts.get("embedding_norm") == "yes" else "d",
        "transformer-postprocess-top": '""' if post else norm,
        "transformer-decoder-autoreg": "rnn" if ssru else "self-attention", "dec-cell": "ssru",
        "transformer-rnn-projection": "false", "transformer-no-projection": "false", "layer-normalization": "false",
        "transformer-train-position-embeddings": "false", "transformer-no-bias": "false", "skip": "false",
        "tied-embeddings-all": str(tied == "all").lower(), "tied-embeddings": str(tied == "output").lower(),
        "tied-embeddings-src": str(tied == "source").lower(),
        "output-omit-bias": str(facts.get("output_bias") != "yes").lower(),
    }
    return "".join(f"{name}: {value}\n" for name, value in values.items())


def tensors_of(facts, w):
    """Marian's tensors by name, of ours; a tensor of ours without a place in Marian is an error."""
    D, tied, left, out = facts["d_model"], facts.get("tied_embeddings", "all"), dict(w), {}
    kind = "rms" if facts.get("norm") == "rms" else "ln"
    post = facts.get("norm_place") == "post"

    def take(name):
        return left.pop(name)

    def put(name, matrix):
        out[name] = np.ascontiguousarray(matrix.T)

    def put_row(name, values):
        out[name] = values.reshape(1, -1)

    def norm(to, name, end=""):
        put_row(f"{to}_{kind}_scale{end}", take(name + ".scale"))
        if kind == "ln":
            put_row(f"{to}_ln_bias{end}", take(name + ".shift"))

    def projections(to, letters, weight, bias):
        for i, letter in enumerate(letters):
            put(f"{to}_W{letter}", weight[i * D:(i + 1) * D])
            put_row(f"{to}_b{letter}", bias.reshape(-1)[i * D:(i + 1) * D])

    def attention(to, name, first, letters):
        projections(to, letters, take(f"{name}.{first}"), take(f"{name}.{first}.bias"))
        projections(to, "o", take(name + ".out"), take(name + ".out.bias"))
        norm(to + "_Wo", name + ".norm", "" if post else "_pre")

    def ffn(to, name):
        put(to + "_W1", take(name + ".in"))
        put_row(to + "_b1", take(name + ".in.bias"))
        put(to + "_W2", take(name + ".out"))
        put_row(to + "_b2", take(name + ".out.bias"))
        norm(to + "_ffn", name + ".norm", "" if post else "_pre")

    def ssru(to, name):
        new, gate = np.split(take(name + ".in"), 2)
        put(to + "_W", new)
        put(to + "_Wf", gate)
        put_row(to + "_bf", take(name + ".in.bias"))
        norm(to + "_ffn" if post else to, name + ".norm", "" if post else "_pre")

    target = take("embed")
    if tied in ("all", "source"):
        out["Wemb"] = target
    else:
        out["decoder_Wemb"], out["encoder_Wemb"] = target, take("encoder.embed")
    if "output" in left:
        out["decoder_ff_logit_out_Wt"] = take("output")
    if "output.bias" in left:
        put_row("decoder_ff_logit_out_b", take("output.bias"))
    memory, memory_bias = take("decoder.cross.kv"), take("decoder.cross.kv.bias").reshape(-1)
    for stack in ("encoder", "decoder"):
        if f"{stack}.embed.norm.scale" in left:
            norm(stack + "_emb", stack + ".embed.norm", "_pre")
        if not post:
            norm(stack + "_top", stack + ".norm")
    for i in range(facts["encoder_layers"]):
        attention(f"encoder_l{i + 1}_self", f"encoder.{i}.self", "qkv", "qkv")
        ffn(f"encoder_l{i + 1}_ffn", f"encoder.{i}.ffn")
    for i in range(facts["decoder_layers"]):
        to, rows = f"decoder_l{i + 1}", slice(2 * i * D, 2 * (i + 1) * D)
        if facts.get("decoder_self") == "ssru":
            ssru(to + "_rnn", f"decoder.{i}.ssru")
        else:
            attention(to + "_self", f"decoder.{i}.self", "qkv", "qkv")
        attention(to + "_context", f"decoder.{i}.cross", "q", "q")
        projections(to + "_context", "kv", memory[rows], memory_bias[rows])
        ffn(to + "_ffn", f"decoder.{i}.ffn")
    if left:
        raise SystemExit(f"Marian has no tensor {sorted(left)}")
    return out
