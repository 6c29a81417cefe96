use super::*;

fn inline(source: &str) -> String {
    let html = render(source, false).unwrap();
    let body = html.split_once("<mrow>").unwrap().1;
    body.strip_suffix("</mrow></math>").unwrap().to_owned()
}

#[test]
fn what_agents_write_is_drawn() {
    assert_eq!(inline("x^2"), "<msup><mi>x</mi><mn>2</mn></msup>");
    assert_eq!(
        inline("E = mc^{2}"),
        "<mi>E</mi><mo>=</mo><mi>m</mi><msup><mi>c</mi><mrow><mn>2</mn></mrow></msup>"
    );
    assert_eq!(
        inline("\\frac{-b \\pm \\sqrt{b^2}}{2a}"),
        "<mfrac><mrow><mo>−</mo><mi>b</mi><mo>±</mo><msqrt><mrow><msup><mi>b</mi><mn>2</mn></msup></mrow></msqrt>\
         </mrow><mrow><mn>2</mn><mi>a</mi></mrow></mfrac>"
    );
    assert_eq!(inline("a_i^2"), "<msubsup><mi>a</mi><mi>i</mi><mn>2</mn></msubsup>");
    assert_eq!(inline("f'(x)"), "<msup><mi>f</mi><mo>′</mo></msup><mo>(</mo><mi>x</mi><mo>)</mo>");
    assert_eq!(inline("\\mathbb{R}\\to\\mathbf{v}"), "<mi>ℝ</mi><mo>→</mo><mi>𝐯</mi>");
    assert_eq!(
        inline("\\sqrt[3]{x}"),
        "<mroot><mrow><mi>x</mi></mrow><mrow><mn>3</mn></mrow></mroot>"
    );
    assert_eq!(inline("3.5."), "<mn>3.5</mn><mo>.</mo>");
    assert_eq!(
        inline("\\left( x \\right]"),
        "<mrow><mo stretchy=\"true\">(</mo><mi>x</mi><mo stretchy=\"true\">]</mo></mrow>"
    );
    assert_eq!(
        inline("\\begin{pmatrix} 1 & 2 \\\\ 3 & 4 \\end{pmatrix}"),
        "<mrow><mo stretchy=\"true\">(</mo><mtable><mtr><mtd><mn>1</mn></mtd><mtd><mn>2</mn></mtd></mtr>\
         <mtr><mtd><mn>3</mn></mtd><mtd><mn>4</mn></mtd></mtr></mtable><mo stretchy=\"true\">)</mo></mrow>"
    );
    // Sums have their limits above and below where there is room.
    let sum = "\\sum_{i=1}^n i";
    assert!(inline(sum).starts_with("<msubsup><mo>∑</mo>"), "{}", inline(sum));
    assert!(render(sum, true).unwrap().contains("<munderover><mo>∑</mo>"));
    assert!(inline("x \\rightarrow y").contains('→'));
}

#[test]
fn what_can_not_be_read_stays_as_it_is() {
    for source in [
        "\\unknown{x}",
        "\\frac{a}",
        "x_1_2",
        "{a",
        "a}",
        "\\left( a",
        "\\begin{pmatrix} 1",
        "",
        "\\begin{evil}x\\end{evil}",
        "a & b",
        "\\href{https://a.test}{b}",
        "50\\",
        "\\left\\",
        "\\left\\é x \\right.",
    ] {
        assert_eq!(render(source, true), None, "{source}");
    }
    assert_eq!(render(&"{".repeat(3000), false), None);
    assert_eq!(render(&"x".repeat(5000), false), None);
}

#[test]
fn nothing_in_a_formula_is_html() {
    let html = render("a<b>\\text{<script>} \"\u{202e}", false).unwrap();
    assert!(!html.contains("<script") && !html.contains("<b>"), "{html}");
    assert!(!html.contains('\u{202e}'), "{html}");
    assert!(html.contains("alttext=\"a&lt;b&gt;\\text{&lt;script&gt;} &quot;"), "{html}");
}
