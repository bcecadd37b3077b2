"""pytorch_family.py - the Transformer with every option of [model], from PyTorch's own functions.

Also Adam. For pytorch_curve.py, pytorch_model.py and marian_forward.py. An architecture is a text of words
option=value, with the names and choices of share/conf/options.def; source_vocabulary is a word, too.
Weights are a dictionary with the names of train/model/params.def. Batches are padded.

Sources of the formulas: Vaswani et al. 2017; Zhang and Sennrich 2019 (RMS); Shazeer 2020 (gates);
Su et al. 2021 (rotary); Kim et al. 2019 (SSRU); the programs that the options name.
"""
import math

import torch
import torch.nn.functional as F

END, START, ZERO = 1, 2, -1

DEFAULTS = dict(
    d_model="64", d_ff="256", heads="2", encoder_layers="2", decoder_layers="2", decoder_ff="0",
    decoder_heads="0", norm_place="pre", norm="layer", norm_epsilon="1e-6", final_norm="yes",
    embedding_norm="no", embedding_scale="sqrt", tied_embeddings="all", positions="sinusoid",
    position_offset="0", max_positions="1024", activation="relu", gated_ffn="no", ffn_bias="yes",
    attention_bias="no", output_bias="no", decoder_self="attention", decoder_start="start",
    source_vocabulary="0")

ACTIVATIONS = {
    "relu": F.relu,
    "gelu": F.gelu,
    "gelu-tanh": lambda x: F.gelu(x, approximate="tanh"),
    "gelu-sigmoid": lambda x: x * torch.sigmoid(1.702 * x),
    "silu": F.silu,
}


class Architecture:
    """The options as attributes: numbers are int, yes and no are bool, other choices text."""

    def __init__(self, *texts):
        values = dict(DEFAULTS)
        for word in " ".join(texts).split():
            name, value = word.split("=")
            if name not in values:
                raise SystemExit(f"{name}: pytorch_family.py does not know this option")
            values[name] = value
        for name, value in values.items():
            setattr(self, name, int(value) if value.isdigit() else
                    value == "yes" if value in ("yes", "no") else value)
        self.epsilon = float(self.norm_epsilon)
        self.decoder_ff = self.decoder_ff or self.d_ff
        self.decoder_heads = self.decoder_heads or self.heads
        self.start = {"start": START, "end": END, "zero": ZERO}[self.decoder_start]
        self.is_post = self.norm_place == "post"
        self.has_final_norm = self.final_norm and not self.is_post

    def shapes(self, vocabulary):
        """Name and shape of every tensor, in the order of the flat array."""
        D, L = self.d_model, self.decoder_layers
        out = []

        def add(name, *shape, when=True):
            if when:
                out.append((name, shape))

        def norm(name):
            add(name + ".scale", D)
            add(name + ".shift", D, when=self.norm == "layer")

        def attention(name, first, rows):
            norm(name + ".norm")
            add(f"{name}.{first}", rows, D)
            add(f"{name}.{first}.bias", rows, when=self.attention_bias)
            add(name + ".out", D, D)
            add(name + ".out.bias", D, when=self.attention_bias)

        def ffn(name, width):
            norm(name + ".norm")
            inner = 2 * width if self.gated_ffn else width
            add(name + ".in", inner, D)
            add(name + ".in.bias", inner, when=self.ffn_bias)
            add(name + ".out", D, width)
            add(name + ".out.bias", D, when=self.ffn_bias)

        def inputs(stack):
            add(stack + ".positions", self.max_positions, D, when=self.positions == "learned")
            if self.embedding_norm:
                norm(stack + ".embed.norm")

        add("embed", vocabulary, D)
        add("encoder.embed", self.source_vocabulary or vocabulary, D,
            when=self.tied_embeddings in ("output", "none"))
        inputs("encoder")
        for i in range(self.encoder_layers):
            attention(f"encoder.{i}.self", "qkv", 3 * D)
            ffn(f"encoder.{i}.ffn", self.d_ff)
        if self.has_final_norm:
            norm("encoder.norm")
        add("decoder.cross.kv", 2 * D * L, D)
        add("decoder.cross.kv.bias", 2 * D * L, when=self.attention_bias)
        inputs("decoder")
        add("output", vocabulary, D, when=self.tied_embeddings in ("source", "none"))
        add("output.bias", vocabulary, when=self.output_bias)
        for i in range(L):
            if self.decoder_self == "ssru":
                norm(f"decoder.{i}.ssru.norm")
                add(f"decoder.{i}.ssru.in", 2 * D, D)
                add(f"decoder.{i}.ssru.in.bias", D)
            else:
                attention(f"decoder.{i}.self", "qkv", 3 * D)
            attention(f"decoder.{i}.cross", "q", D)
            ffn(f"decoder.{i}.ffn", self.decoder_ff)
        if self.has_final_norm:
            norm("decoder.norm")
        return out


def sinusoids(n, d, kind):
    """Rows 0 to n - 1 of the table, float64."""
    steps = max(d / 2 - 1, 1) if kind == "sinusoid" else d / 2
    rate = 10000.0 ** (-torch.arange(d // 2, dtype=torch.float64) / steps)
    angle = torch.outer(torch.arange(n, dtype=torch.float64), rate)
    if kind == "sinusoid-pairs":
        return torch.stack([angle.sin(), angle.cos()], 2).reshape(n, d)
    return torch.cat([angle.sin(), angle.cos()], 1)


def pad(rows, fill=0):
    out = torch.full((len(rows), max(len(r) for r in rows)), fill, dtype=torch.long)
    for i, r in enumerate(rows):
        out[i, :len(r)] = torch.tensor(r)
    return out


class Adam(torch.optim.Adam):
    """Adam with epsilon as in Kingma and Ba 2015, end of section 2, and as in tensor2tensor.

    rate sqrt(c2) / c1 m / (sqrt(v) + epsilon). PyTorch adds epsilon to sqrt(v / c2): in the first steps, with
    beta2 0.98, that is 7 times less, and units of ReLU that hardly ever open have gradients as small as 1e-9.
    """
    EPSILON, BETA2 = 1e-9, 0.98

    def __init__(self, parameters, rate):
        super().__init__(parameters, lr=rate, betas=(0.9, self.BETA2))
        self.steps = 0

    def step(self):
        self.steps += 1
        for group in self.param_groups:
            group["eps"] = self.EPSILON / math.sqrt(1 - self.BETA2 ** self.steps)
        super().step()


class Transformer:
    """weights: tensors by name; those that the architecture lacks or has too many are an error."""

    def __init__(self, architecture, weights):
        self.a = a = architecture
        self.w = {name: t.clone().requires_grad_() for name, t in weights.items()}
        want = {name: math.prod(shape) for name, shape in a.shapes(weights["embed"].shape[0])}
        have = {name: t.numel() for name, t in weights.items()}
        if want != have:
            raise SystemExit(f"the tensors differ: {sorted(set(want.items()) ^ set(have.items()))}")
        self.dtype = weights["embed"].dtype
        if a.positions.startswith("sinusoid"):
            self.table = sinusoids(1024 + a.position_offset, a.d_model, a.positions)[a.position_offset:]
            self.table = self.table.to(self.dtype)
        self.waves = {}  # cosines and sines of rotary positions, by columns of a head
        self.activation = ACTIVATIONS[a.activation]

    def norm(self, name, x):
        size, scale = (self.a.d_model,), self.w[name + ".scale"].reshape(-1)
        if self.a.norm == "rms":
            return F.rms_norm(x, size, scale, eps=self.a.epsilon)
        return F.layer_norm(x, size, scale, self.w[name + ".shift"].reshape(-1), eps=self.a.epsilon)

    def linear(self, name, x):
        bias = self.w.get(name + ".bias")
        return F.linear(x, self.w[name], None if bias is None else bias.reshape(-1))

    def residual(self, name, x, branch):
        """A sublayer with its norm and the residual connection."""
        if self.a.is_post:
            return self.norm(name + ".norm", x + branch(name, x))
        return x + branch(name, self.norm(name + ".norm", x))

    def turn(self, x):
        """Rotary positions of (batch, heads, tokens, columns): rotate_half as in GPT-NeoX."""
        n, width = x.shape[2:]
        if width not in self.waves:
            rate = 10000.0 ** (-torch.arange(0, width, 2, dtype=torch.float64) / width)
            angle = torch.outer(torch.arange(1024, dtype=torch.float64), rate).repeat(1, 2)
            self.waves[width] = angle.cos().to(self.dtype), angle.sin().to(self.dtype)
        cos, sin = self.waves[width]
        first, second = x.chunk(2, 3)
        return x * cos[:n] + torch.cat([-second, first], 3) * sin[:n]

    def attend(self, q, k, v, heads, mask=None, causal=False, rotary=False):
        q, k, v = (t.reshape(t.shape[0], t.shape[1], heads, -1).transpose(1, 2) for t in (q, k, v))
        if rotary:
            q, k = self.turn(q).to(v.dtype), self.turn(k).to(v.dtype)
        y = F.scaled_dot_product_attention(q, k, v, attn_mask=mask, is_causal=causal)
        return y.transpose(1, 2).reshape(y.shape[0], y.shape[2], -1)

    def self_attention(self, heads, mask, causal):
        def branch(name, x):
            q, k, v = self.linear(name + ".qkv", x).chunk(3, 2)
            y = self.attend(q, k, v, heads, mask, causal, self.a.positions == "rotary")
            return self.linear(name + ".out", y)
        return branch

    def cross_attention(self, k, v, mask):
        def branch(name, x):
            y = self.attend(self.linear(name + ".q", x), k, v, self.a.decoder_heads, mask)
            return self.linear(name + ".out", y)
        return branch

    def ssru(self, name, x):
        candidate, gate = F.linear(x, self.w[name + ".in"]).chunk(2, 2)
        forget = torch.sigmoid(gate + self.w[name + ".in.bias"].reshape(-1))
        new = (1 - forget) * candidate
        state, states = torch.zeros_like(new[:, 0]), []
        for f, n in zip(forget.unbind(1), new.unbind(1)):
            state = f * state + n
            states.append(state)
        return F.relu(torch.stack(states, 1))

    def ffn(self, name, x):
        y = self.linear(name + ".in", x)
        if self.a.gated_ffn:
            a, gate = y.chunk(2, 2)
            y = self.activation(a) * gate
        else:
            y = self.activation(y)
        return self.linear(name + ".out", y)

    def embed(self, stack, ids):
        name = "encoder.embed" if stack == "encoder" and "encoder.embed" in self.w else "embed"
        x = F.embedding(ids.clamp(min=0), self.w[name]) * (ids >= 0)[:, :, None]
        if self.a.embedding_scale == "sqrt":
            x = x * math.sqrt(self.a.d_model)
        if self.a.positions == "learned":
            x = x + self.w[stack + ".positions"][:ids.shape[1]]
        elif self.a.positions.startswith("sinusoid"):
            x = x + self.table[:ids.shape[1]]
        return self.norm(stack + ".embed.norm", x) if self.a.embedding_norm else x

    def end(self, stack, x):
        return self.norm(stack + ".norm", x) if self.a.has_final_norm else x

    def logits(self, source, target):
        """Logits (target tokens, V) of sentences without special tokens, and the token that each should predict."""
        a = self.a
        ids, gold = pad([s + [END] for s in source]), pad([t + [END] for t in target])
        mask = (ids != 0)[:, None, None, :]
        x = self.embed("encoder", ids)
        for i in range(a.encoder_layers):
            x = self.residual(f"encoder.{i}.self", x, self.self_attention(a.heads, mask, False))
            x = self.residual(f"encoder.{i}.ffn", x, self.ffn)
        memory = self.linear("decoder.cross.kv", self.end("encoder", x)).split(a.d_model, 2)
        x = self.embed("decoder", pad([[a.start] + t for t in target]))
        for i in range(a.decoder_layers):
            if a.decoder_self == "ssru":
                x = self.residual(f"decoder.{i}.ssru", x, self.ssru)
            else:
                x = self.residual(f"decoder.{i}.self", x, self.self_attention(a.decoder_heads, None, True))
            x = self.residual(f"decoder.{i}.cross", x,
                              self.cross_attention(memory[2 * i], memory[2 * i + 1], mask))
            x = self.residual(f"decoder.{i}.ffn", x, self.ffn)
        keep = gold != 0
        bias = self.w.get("output.bias")
        table = self.w["output"] if "output" in self.w else self.w["embed"]
        y = F.linear(self.end("decoder", x)[keep], table, None if bias is None else bias.reshape(-1))
        return y, gold[keep]
