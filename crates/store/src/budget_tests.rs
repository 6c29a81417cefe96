use cloister_protocol::WorkspaceId;

use super::*;
use crate::actor::Actor;
use crate::audit::Entry;
use crate::db::Store;
use crate::test_world;
use crate::users::UserLimits;

const DAY_LIMIT: i64 = 1_000_000;

struct Setup {
    _dir: tempfile::TempDir,
    store: Store,
    user: UserId,
    workspace: WorkspaceId,
}

async fn setup() -> Setup {
    let (dir, store) = test_world::store().await;
    let limits = UserLimits {
        quota_bytes: 1 << 30,
        max_executors: 2,
        daily_budget: DAY_LIMIT,
        task_budget: DAY_LIMIT / 2,
    };
    let ada = test_world::add_with(&store, "ada", limits).await;
    Setup { _dir: dir, store, user: ada.id, workspace: ada.workspace }
}

impl Setup {
    async fn reserve(&self, task: Option<TaskId>, amount: i64) -> Result<Reservation, OverBudget> {
        let entry =
            Entry::new(&Actor::person("cell w1"), "model.call", "T1").of_workspace(self.workspace);
        let call = NewCall {
            user: self.user,
            task,
            level: Level::Executor,
            model: "fast",
            own: false,
            entry,
        };
        self.store.tasks().reserve(&call, amount).await.unwrap()
    }

    async fn settle(&self, reservation: Reservation, cost: i64) {
        let usage = Usage { prompt_tokens: 7, completion_tokens: 3 };
        self.store
            .tasks()
            .settle(reservation, Settlement { usage, cost, cached_tokens: 5 })
            .await
            .unwrap();
    }

    async fn state(&self) -> BudgetState {
        self.store.tasks().budget_state(self.user).await.unwrap()
    }

    async fn task(&self, parent: Option<TaskId>, budget: i64) -> TaskId {
        let mut tx = self.store.begin_one().await.unwrap();
        let id: u32 = sqlx::query_scalar(
            "INSERT INTO tasks (workspace_id, chat, parent_id, depth, turn, title, instructions, \
             request, files, plan_first, state, budget, created_at) \
             VALUES ((SELECT id FROM workspaces), 1, ?, 0, 't', '', '', '', '[]', 0, 'running', ?, 0) \
             RETURNING id",
        )
        .bind(parent.map(TaskId::number))
        .bind(budget)
        .fetch_one(&mut *tx)
        .await
        .unwrap();
        tx.commit().await.unwrap();
        TaskId::from_number(id)
    }
}

#[tokio::test]
async fn parallel_reservations_never_pass_the_limit() {
    let setup = setup().await;
    let amount = 30_000;
    let wanted = (0..50).map(|_| setup.reserve(None, amount));
    let answers = futures_join_all(wanted).await;
    let held: Vec<Reservation> = answers.into_iter().filter_map(Result::ok).collect();
    assert_eq!(i64::try_from(held.len()).unwrap(), DAY_LIMIT / amount);
    let state = setup.state().await;
    assert!(state.reserved <= DAY_LIMIT, "{state:?}");
    for reservation in held {
        setup.settle(reservation, amount).await;
    }
    let state = setup.state().await;
    assert_eq!(state.reserved, 0);
    assert!(state.spent <= DAY_LIMIT, "{state:?}");
}

/// Runs the futures at once, on this task.
async fn futures_join_all<F: Future>(futures: impl Iterator<Item = F>) -> Vec<F::Output> {
    let mut waiting: Vec<_> = futures.map(|future| (Box::pin(future), None)).collect();
    std::future::poll_fn(move |context| {
        for (future, output) in &mut waiting {
            if output.is_none()
                && let std::task::Poll::Ready(value) = future.as_mut().poll(context)
            {
                *output = Some(value);
            }
        }
        if waiting.iter().any(|(_, output)| output.is_none()) {
            return std::task::Poll::Pending;
        }
        std::task::Poll::Ready(waiting.drain(..).filter_map(|(_, output)| output).collect())
    })
    .await
}

#[tokio::test]
async fn a_refusal_says_what_is_left() {
    let setup = setup().await;
    let first = setup.reserve(None, 600_000).await.unwrap();
    setup.settle(first, 250_000).await;
    let _held = setup.reserve(None, 300_000).await.unwrap();
    let over = setup.reserve(None, 500_000).await.unwrap_err();
    let expected = OverBudget {
        kind: BudgetKind::Day,
        limit: DAY_LIMIT,
        spent: 250_000,
        reserved: 300_000,
        wanted: 500_000,
    };
    assert_eq!(over, expected);
    assert_eq!(over.available(), 450_000);
    assert_eq!(
        over.to_string(),
        "the budget of $0.001 for today does not allow this: $0.00025 spent, $0.0003 held for \
         calls under way, up to $0.0005 wanted"
    );
}

#[tokio::test]
async fn a_released_reservation_costs_nothing() {
    let setup = setup().await;
    let held = setup.reserve(None, DAY_LIMIT).await.unwrap();
    setup.store.tasks().release(held).await.unwrap();
    assert_eq!(setup.state().await, BudgetState { limit: DAY_LIMIT, spent: 0, reserved: 0 });
    assert!(setup.store.tasks().usage(Some(setup.user), None).await.unwrap().is_empty());
}

#[tokio::test]
async fn a_sub_task_spends_from_the_budget_of_the_tasks_above_it() {
    let setup = setup().await;
    let parent = setup.task(None, 100_000).await;
    let child = setup.task(Some(parent), 80_000).await;
    let sibling = setup.task(Some(parent), 80_000).await;

    let spent = setup.reserve(Some(child), 60_000).await.unwrap();
    setup.settle(spent, 50_000).await;
    let held = setup.reserve(Some(sibling), 30_000).await.unwrap();

    let over = setup.reserve(Some(child), 25_000).await.unwrap_err();
    assert_eq!(over.kind, BudgetKind::Task(parent));
    assert_eq!((over.spent, over.reserved), (50_000, 30_000));
    let over = setup.reserve(Some(child), 31_000).await.unwrap_err();
    assert_eq!(over.kind, BudgetKind::Task(child));

    let above = setup.store.tasks().task_budget_state(setup.user, parent).await.unwrap();
    assert_eq!(above, BudgetState { limit: 100_000, spent: 50_000, reserved: 30_000 });
    setup.store.tasks().release(held).await.unwrap();
    let _fits = setup.reserve(Some(child), 25_000).await.unwrap();
}

#[tokio::test]
async fn what_a_killed_control_plane_held_is_settled_in_full() {
    let setup = setup().await;
    let task = setup.task(None, 100_000).await;
    let _lost = setup.reserve(Some(task), 40_000).await.unwrap();
    assert_eq!(setup.store.tasks().settle_leftovers().await.unwrap(), 1);
    assert_eq!(setup.state().await, BudgetState { limit: DAY_LIMIT, spent: 40_000, reserved: 0 });
    let state = setup.store.tasks().task_budget_state(setup.user, task).await.unwrap();
    assert_eq!(state.spent, 40_000);
    assert_eq!(setup.store.tasks().settle_leftovers().await.unwrap(), 0);
}

#[tokio::test]
async fn usage_is_counted_per_user_day_level_and_model() {
    let setup = setup().await;
    for cost in [10, 20] {
        let held = setup.reserve(None, 100).await.unwrap();
        setup.settle(held, cost).await;
    }
    let rows = setup.store.tasks().usage(Some(setup.user), None).await.unwrap();
    let expected = UsageRow {
        user: setup.user,
        day: setup.store.clock.today(),
        level: "executor".to_owned(),
        model: "fast".to_owned(),
        calls: 2,
        usage: Usage { prompt_tokens: 14, completion_tokens: 6 },
        cost: 30,
        cached_tokens: 10,
    };
    assert_eq!(rows, vec![expected]);
    let kept = setup.store.tasks().kept_of_prompts("fast", &setup.store.clock.today()).await;
    assert_eq!(kept.unwrap(), (14, 10));
    assert!(setup.store.tasks().usage(None, Some("9999-01-01")).await.unwrap().is_empty());
}

#[test]
fn money_reads_like_money() {
    let shown = |nano| Dollars(nano).to_string();
    assert_eq!(shown(0), "$0.00");
    assert_eq!(shown(5_000_000_000), "$5.00");
    assert_eq!(shown(1_234_500_000), "$1.2345");
    assert_eq!(shown(1), "$0.000001");
    assert_eq!(shown(-2_500_000_000), "-$2.50");
}

#[tokio::test]
async fn what_people_pay_themselves_is_booked_apart_and_passes_no_limit() {
    let setup = setup().await;
    let task = setup.task(None, 100).await;
    let entry =
        Entry::new(&Actor::person("cell w1"), "model.call", "T1").of_workspace(setup.workspace);
    let call = NewCall {
        user: setup.user,
        task: Some(task),
        level: Level::Executor,
        model: "mine",
        own: true,
        entry,
    };
    let held = setup.store.tasks().reserve(&call, DAY_LIMIT * 10).await.unwrap().unwrap();
    assert_eq!(setup.state().await, BudgetState { limit: DAY_LIMIT, spent: 0, reserved: 0 });
    // Others' limits hold as if it were not there.
    let other = setup.reserve(None, DAY_LIMIT).await.unwrap();
    setup.store.tasks().release(other).await.unwrap();
    setup.settle(held, 5_000_000).await;
    assert_eq!(setup.state().await.spent, 0);
    let state = setup.store.tasks().task_budget_state(setup.user, task).await.unwrap();
    assert_eq!((state.spent, state.reserved), (0, 0));
    assert!(setup.store.tasks().usage(Some(setup.user), None).await.unwrap().is_empty());
    let own = setup.store.tasks().own_usage(Some(setup.user), None).await.unwrap();
    assert_eq!((own.len(), own[0].cost, own[0].model.as_str()), (1, 5_000_000, "mine"));
    assert_eq!(setup.store.tasks().own_spent_today(None).await.unwrap(), 5_000_000);
    // One that a killed control plane left behind is booked apart, too.
    let _left = setup.store.tasks().reserve(&call, 7).await.unwrap().unwrap();
    assert_eq!(setup.store.tasks().settle_leftovers().await.unwrap(), 1);
    assert_eq!(setup.state().await.spent, 0);
    assert_eq!(setup.store.tasks().own_spent_today(Some(setup.user)).await.unwrap(), 5_000_007);
}

/// Calls that end together are settled in one write, each for what it is.
#[tokio::test]
async fn what_several_calls_cost_is_booked_to_the_tasks_of_each() {
    let setup = setup().await;
    let above = setup.task(None, 1_000).await;
    let below = setup.task(Some(above), 1_000).await;
    let of_above = setup.reserve(Some(above), 300).await.unwrap();
    let of_below = setup.reserve(Some(below), 300).await.unwrap();
    let other = setup.reserve(Some(below), 300).await.unwrap();
    let of_none = setup.reserve(None, 300).await.unwrap();
    tokio::join!(
        setup.settle(of_above, 1),
        setup.settle(of_below, 20),
        setup.settle(other, 100),
        setup.settle(of_none, 4_000),
    );
    let spent = async |task| {
        let state = setup.store.tasks().task_budget_state(setup.user, task).await.unwrap();
        (state.spent, state.reserved)
    };
    assert_eq!(spent(above).await, (121, 0));
    assert_eq!(spent(below).await, (120, 0));
    assert_eq!((setup.state().await.spent, setup.state().await.reserved), (4_121, 0));
    let usage = setup.store.tasks().usage(Some(setup.user), None).await.unwrap();
    assert_eq!(usage.iter().map(|row| row.calls).sum::<u64>(), 4);
    assert_eq!(usage.iter().map(|row| row.usage.prompt_tokens).sum::<u64>(), 28);
}
