//! The name and the help of every metric. A table.

/// A metric's name and help.
pub(super) type Name = (&'static str, &'static str);

pub(super) const LOG_EVENTS: Name =
    ("cloister_log_events_total", "Lines of the log at warn and error");
pub(super) const MESSAGES_ACCEPTED: Name =
    ("cloister_messages_accepted_total", "Messages that were stored");
pub(super) const MESSAGES_DUPLICATE: Name =
    ("cloister_messages_duplicate_total", "Messages that were stored before");
pub(super) const REFUSALS: Name =
    ("cloister_refusals_total", "Messages, files and connections not taken");
pub(super) const ACKNOWLEDGEMENT_SECONDS: Name =
    ("cloister_acknowledgement_seconds", "From receiving a message to its being stored");
pub(super) const TURNS_STARTED: Name =
    ("cloister_turns_started_total", "Turns handed to a coordinator");
pub(super) const TURNS_ENDED: Name =
    ("cloister_turns_ended_total", "Turns whose end was stored, by outcome");
pub(super) const TURN_DURATION_SECONDS: Name =
    ("cloister_turn_duration_seconds", "From a message's being stored to its answer's");
pub(super) const FIRST_MODEL_REQUEST_SECONDS: Name = (
    "cloister_first_model_request_seconds",
    "From a message's being stored to its turn's first model request",
);
pub(super) const CELL_LAUNCHES: Name =
    ("cloister_cell_launches_total", "Sandboxes that were launched");
pub(super) const CELL_LAUNCH_FAILURES: Name =
    ("cloister_cell_launch_failures_total", "Sandboxes that did not start");
pub(super) const CELL_LAUNCH_SECONDS: Name =
    ("cloister_cell_launch_seconds", "How long a launch took");
pub(super) const CELL_EXITS: Name = ("cloister_cell_exits_total", "Sandboxes that ended, by how");
pub(super) const TASKS_ENDED: Name = ("cloister_tasks_ended_total", "Tasks that ended, by state");
pub(super) const MODEL_CALLS: Name =
    ("cloister_model_calls_total", "Calls of a model, by how they ended");
pub(super) const MODEL_CALL_SECONDS: Name =
    ("cloister_model_call_seconds", "How long a call of a model took");
pub(super) const TOKENS: Name = ("cloister_tokens_total", "Tokens that were booked");
pub(super) const SPEND_USD: Name = ("cloister_spend_usd_total", "Dollars that were booked");
pub(super) const BUDGET_REFUSALS: Name =
    ("cloister_budget_refusals_total", "Model calls refused for want of budget");
pub(super) const LOOPS_STOPPED: Name =
    ("cloister_loops_stopped_total", "Agents that went round in circles and were stopped, by sign");
pub(super) const TOKEN_SPIKES: Name = (
    "cloister_token_spikes_total",
    "Times that somebody's agent used many times the tokens it usually does",
);
pub(super) const EGRESS_DECISIONS: Name =
    ("cloister_egress_decisions_total", "Requests to go out, and what was decided");
pub(super) const CONNECTOR_ERRORS: Name =
    ("cloister_connector_errors_total", "Requests of connectors that failed, by kind");
pub(super) const POSTS: Name = ("cloister_posts_total", "Messages that were posted on a surface");
pub(super) const POST_EDITS: Name =
    ("cloister_post_edits_total", "Edits of messages that were posted on a surface");
pub(super) const POST_WAITS: Name =
    ("cloister_post_waits_total", "Times that a surface asked to wait before something is sent");
pub(super) const POST_FAILURES: Name =
    ("cloister_post_failures_total", "Messages and edits that a surface did not take, by reason");
pub(super) const UPTIME_SECONDS: Name =
    ("cloister_uptime_seconds", "Seconds since the control plane was started");

// Read when they are asked for.
pub(super) const STOPPED: Name =
    ("cloister_emergency_stop", "1 while everything is stopped until released");
pub(super) const UNANSWERED_MESSAGES: Name =
    ("cloister_unanswered_messages", "Messages that wait for an answer");
pub(super) const OLDEST_UNANSWERED_SECONDS: Name =
    ("cloister_oldest_unanswered_seconds", "How long the oldest unanswered message has waited");
pub(super) const LOST_MESSAGES: Name =
    ("cloister_lost_messages", "Answered messages without an answer in the outbox; must be 0");
pub(super) const TASKS: Name = ("cloister_tasks", "Open tasks, by state");
pub(super) const RUNNING_EXECUTORS: Name = ("cloister_running_executors", "Executors that run now");
pub(super) const EXECUTOR_LIMIT: Name =
    ("cloister_executor_limit", "Executors that may run at once");
pub(super) const LIVE_CELLS: Name = ("cloister_live_cells", "Workspaces whose cell is live");
pub(super) const OUTBOX_ROWS: Name =
    ("cloister_outbox_rows", "Rows of the outbox, sent and not sent yet");
pub(super) const USERS: Name = ("cloister_users", "Users");
pub(super) const WORKSPACES_OVER_QUOTA: Name =
    ("cloister_workspaces_over_quota", "Workspaces over their quota");
pub(super) const CONNECTOR_STATE: Name =
    ("cloister_connector_state", "1 for the state that a connector is in");
pub(super) const CONNECTOR_HEARD_SECONDS: Name =
    ("cloister_connector_last_heard_seconds", "How long ago a connector's server last answered");
pub(super) const CONNECTOR_CONVERSATIONS: Name =
    ("cloister_connector_conversations", "Conversations that show a chat");
pub(super) const CONNECTOR_WAITING: Name =
    ("cloister_connector_waiting_rows", "Rows of the outbox that wait to be told there");
pub(super) const CONNECTOR_OLDEST_WAITING: Name =
    ("cloister_connector_oldest_waiting_seconds", "How long the oldest of them has waited");
pub(super) const SPEND_TODAY_USD: Name =
    ("cloister_spend_today_usd", "Dollars that were booked today (UTC)");
pub(super) const RESERVED_USD: Name =
    ("cloister_reserved_usd", "Dollars that are held for calls under way");
pub(super) const DISK_FREE_BYTES: Name =
    ("cloister_disk_free_bytes", "Room for this account where the data is");
pub(super) const DISK_SIZE_BYTES: Name =
    ("cloister_disk_size_bytes", "Size of the filesystem where the data is");
pub(super) const STOPPING: Name =
    ("cloister_stopping", "1 while the control plane drains and stops");
pub(super) const SCRAPE_OK: Name =
    ("cloister_database_ok", "1 if the database could be read for this answer");
pub(super) const DATABASE_HELD: Name = (
    "cloister_database_held_too_long",
    "Who holds a connection of the database, or waits for one, for more than 5 seconds; must be 0",
);
pub(super) const BUILD_INFO: Name = ("cloister_build_info", "The version that runs");
pub(super) const PROCESS_MEMORY: Name =
    ("process_resident_memory_bytes", "Resident memory of the control plane");
pub(super) const PROCESS_FDS: Name =
    ("process_open_fds", "Open file descriptors of the control plane");
pub(super) const PROCESS_THREADS: Name = ("process_threads", "Threads of the control plane");
pub(super) const PROCESS_CPU: Name =
    ("process_cpu_seconds_total", "Processor time of the control plane");
pub(super) const PROCESS_START: Name =
    ("process_start_time_seconds", "When the control plane was started, since 1970");
