//! Pages: HTML for people in a browser, one file per page.
//!
//! Owns: documents, the session cookie, static files. Promises: nothing is shown to who may not see
//! it; nothing is changed by a request that does not come from a page of ours; no page loads
//! anything from elsewhere or runs a script that is not our file.

mod acts;
mod agents;
mod approvals;
pub(crate) mod ask;
mod assets;
mod banner;
mod calls;
mod chat;
mod chats;
mod conversation;
pub(crate) mod entries;
mod forms;
mod grants;
pub(crate) mod headers;
mod login;
mod model;
mod model_list;
mod own_models;
mod people;
mod person;
mod posted;
mod search;
pub(crate) mod session;
mod shell;
mod start;
mod status;
pub(crate) mod task;
mod task_changes;
mod task_files;

use axum::Router;
use axum::extract::DefaultBodyLimit;
use axum::middleware;
use axum::routing::{get, post};

use crate::server::State;

pub(crate) fn routes(state: &State) -> Router<State> {
    Router::new()
        .route("/", get(chat::first))
        .route("/login", get(login::show).post(login::accept))
        .route("/invite", get(login::show))
        .route("/logout", post(login::logout))
        .route("/chats", post(chats::add))
        .route(
            "/chats/{chat}",
            get(chat::show).merge(post(chat::post).layer(DefaultBodyLimit::disable())),
        )
        .route("/chats/{chat}/older", get(chat::older))
        .route("/chats/{chat}/message/{turn}", get(chat::message))
        .route("/chats/{chat}/answer/{turn}", get(chat::source))
        .route("/chats/{chat}/tasks/{task}", get(task::steps))
        .route("/chats/{chat}/rename", post(chats::rename))
        .route("/chats/{chat}/archive", post(chats::archive))
        .route("/chats/{chat}/pin", post(chats::pin))
        .route("/chats/{chat}/branch", post(chats::branch))
        .route("/search", get(search::show))
        .route("/approvals", get(approvals::show))
        .route("/approvals/{approval}", post(approvals::answer))
        .route("/grants", get(grants::show))
        .route("/grants/{grant}/revoke", post(grants::revoke))
        .route("/start", get(start::show).post(start::save))
        .route("/start/skip", post(start::skip))
        .route("/people", get(people::show))
        .route("/people/invite", post(people::invite))
        .route("/people/{user}", get(person::show))
        .route("/people/{user}/limits", post(person::limit))
        .route("/people/{user}/roles", post(person::role))
        .route("/people/{user}/remove", post(person::remove))
        .route("/model", get(model::show).post(model::connect))
        .route("/model/own", get(own_models::show).post(own_models::connect))
        .route("/model/own/remove", post(own_models::remove))
        .route("/model/chain", post(model_list::chain))
        .route("/model/{model}/settings", post(model_list::change))
        .route("/model/{model}/offer", post(model_list::offer))
        .route("/model/{model}/first", post(model::first))
        .route("/agents", get(agents::show).post(agents::add))
        .route("/agents/{agent}", post(agents::change))
        .route("/agents/{agent}/remove", post(agents::remove))
        .route("/status", get(status::show))
        .route("/chats/{chat}/turns/{turn}/stop", post(acts::stop_turn))
        .route("/chats/{chat}/turns/{turn}/again", post(acts::ask_again))
        .route("/chats/{chat}/tasks/{task}/cancel", post(acts::cancel_task))
        .route("/chats/{chat}/tasks/{task}/files", get(task_changes::show))
        .route("/chats/{chat}/tasks/{task}/undo", post(task_changes::undo))
        .route("/chats/{chat}/tasks/{task}/redo", post(task_changes::redo))
        .route("/chats/{chat}/tasks/{task}/keep", post(task_changes::keep))
        .route("/chats/{chat}/cancel", post(acts::cancel_tasks))
        .layer(middleware::from_fn_with_state(state.clone(), session::same_origin_only))
        .route("/static/{file}", get(assets::serve))
        .route("/worker.js", get(assets::worker))
        .layer(middleware::from_fn_with_state(state.clone(), headers::protect))
}
