//! The names that formulas are written with, and what they are drawn as.

/// What a name stands for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Symbol {
    Letter(&'static str),
    /// A word that is set upright.
    Function(&'static str),
    Sign(&'static str),
    /// What stands below and above it in a formula of its own line.
    Limit(&'static str),
    Space(&'static str),
}

/// Alphabets of their own.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Letters {
    Double,
    Bold,
    Script,
}

#[rustfmt::skip]
const LETTERS: &[(&str, &str)] = &[
    ("alpha", "α"), ("beta", "β"), ("gamma", "γ"), ("delta", "δ"), ("epsilon", "ϵ"), ("varepsilon", "ε"),
    ("zeta", "ζ"), ("eta", "η"), ("theta", "θ"), ("vartheta", "ϑ"), ("iota", "ι"), ("kappa", "κ"),
    ("lambda", "λ"), ("mu", "μ"), ("nu", "ν"), ("xi", "ξ"), ("pi", "π"), ("varpi", "ϖ"), ("rho", "ρ"),
    ("varrho", "ϱ"), ("sigma", "σ"), ("varsigma", "ς"), ("tau", "τ"), ("upsilon", "υ"), ("phi", "ϕ"),
    ("varphi", "φ"), ("chi", "χ"), ("psi", "ψ"), ("omega", "ω"), ("Gamma", "Γ"), ("Delta", "Δ"),
    ("Theta", "Θ"), ("Lambda", "Λ"), ("Xi", "Ξ"), ("Pi", "Π"), ("Sigma", "Σ"), ("Upsilon", "Υ"),
    ("Phi", "Φ"), ("Psi", "Ψ"), ("Omega", "Ω"), ("infty", "∞"), ("partial", "∂"), ("nabla", "∇"),
    ("hbar", "ℏ"), ("ell", "ℓ"), ("Re", "ℜ"), ("Im", "ℑ"), ("emptyset", "∅"),
];

#[rustfmt::skip]
const SIGNS: &[(&str, &str)] = &[
    ("times", "×"), ("cdot", "⋅"), ("div", "÷"), ("pm", "±"), ("mp", "∓"), ("ast", "∗"), ("star", "⋆"),
    ("circ", "∘"), ("bullet", "∙"), ("oplus", "⊕"), ("otimes", "⊗"), ("leq", "≤"), ("le", "≤"),
    ("geq", "≥"), ("ge", "≥"), ("neq", "≠"), ("ne", "≠"), ("approx", "≈"), ("equiv", "≡"), ("sim", "∼"),
    ("simeq", "≃"), ("cong", "≅"), ("propto", "∝"), ("ll", "≪"), ("gg", "≫"), ("lt", "<"), ("gt", ">"),
    ("in", "∈"), ("notin", "∉"), ("ni", "∋"), ("subset", "⊂"), ("subseteq", "⊆"), ("supset", "⊃"),
    ("supseteq", "⊇"), ("cup", "∪"), ("cap", "∩"), ("setminus", "∖"), ("forall", "∀"), ("exists", "∃"),
    ("neg", "¬"), ("lnot", "¬"), ("land", "∧"), ("wedge", "∧"), ("lor", "∨"), ("vee", "∨"), ("to", "→"),
    ("rightarrow", "→"), ("leftarrow", "←"), ("Rightarrow", "⇒"), ("Leftarrow", "⇐"), ("implies", "⟹"),
    ("iff", "⟺"), ("leftrightarrow", "↔"), ("Leftrightarrow", "⇔"), ("mapsto", "↦"), ("uparrow", "↑"),
    ("downarrow", "↓"), ("longrightarrow", "⟶"), ("ldots", "…"), ("dots", "…"), ("cdots", "⋯"),
    ("vdots", "⋮"), ("ddots", "⋱"), ("int", "∫"), ("iint", "∬"), ("oint", "∮"), ("mid", "∣"),
    ("parallel", "∥"), ("perp", "⊥"), ("angle", "∠"), ("langle", "⟨"), ("rangle", "⟩"), ("lfloor", "⌊"),
    ("rfloor", "⌋"), ("lceil", "⌈"), ("rceil", "⌉"), ("prime", "′"),
];

#[rustfmt::skip]
const LIMITS: &[(&str, &str)] = &[
    ("sum", "∑"), ("prod", "∏"), ("coprod", "∐"), ("bigcup", "⋃"), ("bigcap", "⋂"), ("lim", "lim"),
    ("max", "max"), ("min", "min"), ("sup", "sup"), ("inf", "inf"), ("limsup", "lim sup"),
    ("liminf", "lim inf"), ("argmax", "arg max"),
];

#[rustfmt::skip]
const FUNCTIONS: &[&str] = &[
    "sin", "cos", "tan", "cot", "sec", "csc", "arcsin", "arccos", "arctan", "sinh", "cosh", "tanh", "log",
    "ln", "lg", "exp", "det", "dim", "ker", "deg", "gcd", "arg",
];

const SPACES: &[(&str, &str)] = &[("quad", "1em"), ("qquad", "2em")];

#[rustfmt::skip]
const ACCENTS: &[(&str, &str)] = &[
    ("hat", "^"), ("widehat", "^"), ("bar", "¯"), ("overline", "¯"), ("underline", "_"), ("vec", "→"),
    ("overrightarrow", "→"), ("dot", "˙"), ("ddot", "¨"), ("tilde", "~"), ("widetilde", "~"),
    ("overbrace", "⏞"), ("underbrace", "⏟"),
];

pub(crate) fn symbol(name: &str) -> Option<Symbol> {
    let among = |table: &[(&str, &'static str)]| {
        table.iter().find(|(known, _)| *known == name).map(|(_, drawn)| *drawn)
    };
    among(LETTERS)
        .map(Symbol::Letter)
        .or_else(|| among(SIGNS).map(Symbol::Sign))
        .or_else(|| among(LIMITS).map(Symbol::Limit))
        .or_else(|| among(SPACES).map(Symbol::Space))
        .or_else(|| FUNCTIONS.iter().find(|known| **known == name).copied().map(Symbol::Function))
}

/// The mark that stands above, or below, what a command is about.
pub(crate) fn accent(name: &str) -> Option<&'static str> {
    ACCENTS.iter().find(|(known, _)| *known == name).map(|(_, mark)| *mark)
}

/// A letter of another alphabet.
pub(crate) fn letter(letters: Letters, plain: char) -> Option<char> {
    // Those that were there before the rest of their alphabet.
    let known = match (letters, plain) {
        (Letters::Double, 'C') => 'ℂ',
        (Letters::Double, 'H') => 'ℍ',
        (Letters::Double, 'N') => 'ℕ',
        (Letters::Double, 'P') => 'ℙ',
        (Letters::Double, 'Q') => 'ℚ',
        (Letters::Double, 'R') => 'ℝ',
        (Letters::Double, 'Z') => 'ℤ',
        (Letters::Script, 'B') => 'ℬ',
        (Letters::Script, 'E') => 'ℰ',
        (Letters::Script, 'F') => 'ℱ',
        (Letters::Script, 'H') => 'ℋ',
        (Letters::Script, 'I') => 'ℐ',
        (Letters::Script, 'L') => 'ℒ',
        (Letters::Script, 'M') => 'ℳ',
        (Letters::Script, 'R') => 'ℛ',
        _ => return placed(letters, plain),
    };
    Some(known)
}

fn placed(letters: Letters, plain: char) -> Option<char> {
    let (capital, small, digit) = match letters {
        Letters::Double => (0x1d538, Some(0x1d552), Some(0x1d7d8)),
        Letters::Bold => (0x1d400, Some(0x1d41a), Some(0x1d7ce)),
        Letters::Script => (0x1d49c, None, None),
    };
    let at = |first: u32, from: char| char::from_u32(first + (u32::from(plain) - u32::from(from)));
    match plain {
        'A'..='Z' => at(capital, 'A'),
        'a'..='z' => at(small?, 'a'),
        '0'..='9' => at(digit?, '0'),
        ' ' => Some(' '),
        _ => None,
    }
}
