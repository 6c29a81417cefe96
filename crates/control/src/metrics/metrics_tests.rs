use super::*;

fn text_of(metrics: &Metrics) -> String {
    let mut exposition = Exposition::default();
    metrics.expose(&mut exposition);
    exposition.into_text()
}

#[test]
fn what_is_counted_is_exposed_with_its_labels() {
    let metrics = Metrics::default();
    metrics.egress(false, "private_address");
    metrics.egress(false, "private_address");
    metrics.model_call(ModelCall {
        level: Level::Coordinator,
        model: "a \"model\"\n",
        status: "answered",
        took: Duration::from_millis(30),
        usage: Usage { prompt_tokens: 7, completion_tokens: 2 },
        cost: 1_500_000_000,
        cached_tokens: 0,
    });
    metrics.model_call(ModelCall {
        level: Level::Executor,
        model: "fast",
        status: "answered",
        took: Duration::from_millis(30),
        usage: Usage { prompt_tokens: 7, completion_tokens: 2 },
        cost: 300_000_022,
        cached_tokens: 5,
    });
    let text = text_of(&metrics);
    assert!(text.contains("{level=\"executor\",model=\"fast\"} 0.300000022\n"), "{text}");
    assert!(text.contains("model=\"fast\",kind=\"prompt_cached\"} 5\n"), "{text}");
    assert!(
        text.contains(
            "cloister_egress_decisions_total{outcome=\"refused\",reason=\"private_address\"} 2\n"
        ),
        "{text}"
    );
    let spend = r#"cloister_spend_usd_total{level="coordinator",model="a \"model\"\n"} 1.5"#;
    assert!(text.contains(spend), "{text}");
}

#[test]
fn a_histogram_counts_upwards() {
    let metrics = Metrics::default();
    metrics.accepted("socket", Duration::from_micros(800));
    metrics.accepted("socket", Duration::from_secs(1000));
    let text = text_of(&metrics);
    let bucket = |le: &str| format!("cloister_acknowledgement_seconds_bucket{{le=\"{le}\"}}");
    assert!(text.contains(&format!("{} 1\n", bucket("0.001"))), "{text}");
    assert!(text.contains(&format!("{} 1\n", bucket("300"))), "{text}");
    assert!(text.contains(&format!("{} 2\n", bucket("+Inf"))), "{text}");
    assert!(text.contains("cloister_acknowledgement_seconds_count 2\n"), "{text}");
}

#[test]
fn labels_can_not_grow_without_end() {
    let metrics = Metrics::default();
    for number in 0..10_000 {
        metrics.accepted(&format!("surface-{number}"), Duration::ZERO);
    }
    let text = text_of(&metrics);
    let series = text.lines().filter(|line| line.starts_with("cloister_messages_accepted_total{"));
    assert_eq!(series.count(), 201);
    assert!(text.contains("cloister_messages_accepted_total{surface=\"other\"} 9800\n"));
}

#[test]
fn the_window_forgets_what_is_long_ago() {
    let recent = Recent::default();
    let start = Instant::now();
    let minute = |number: u64| start + Duration::from_secs(60 * number);
    assert_eq!(recent.quantile(0.95, start), None);
    for _ in 0..100 {
        recent.observe(Duration::from_secs(2), start);
    }
    assert_eq!(recent.quantile(0.95, start), Some(Duration::from_millis(2500)));
    for _ in 0..10_000 {
        recent.observe(Duration::from_millis(3), minute(5));
    }
    assert_eq!(recent.quantile(0.95, minute(5)), Some(Duration::from_millis(5)));
    assert_eq!(recent.quantile(0.95, minute(16)), None);
}

#[test]
fn the_first_model_request_of_a_turn_is_timed_once() {
    let metrics = Metrics::default();
    let workspace = WorkspaceId::from_number(1);
    metrics.turn_started(workspace, 1, Duration::from_millis(40));
    metrics.model_asked(workspace);
    metrics.model_asked(workspace);
    metrics.turn_ended(workspace, 1, None, Duration::from_millis(100));
    let text = text_of(&metrics);
    assert!(text.contains("cloister_first_model_request_seconds_count 1\n"), "{text}");
    assert!(text.contains("cloister_turns_ended_total{outcome=\"answered\"} 1\n"), "{text}");
}

#[test]
fn a_turn_that_ends_without_a_model_leaves_nothing_behind() {
    let metrics = Metrics::default();
    let workspace = WorkspaceId::from_number(1);
    metrics.turn_started(workspace, 1, Duration::ZERO);
    metrics.turn_ended(workspace, 1, Some(ErrorCode::Internal), Duration::ZERO);
    metrics.model_asked(workspace);
    let text = text_of(&metrics);
    assert!(text.contains("cloister_first_model_request_seconds_count 0\n"), "{text}");
}
