//! The table of admin calls: each is declared once, with what it is about, and both the router and the
//! authorisation matrix are built from it. No handler runs before its call was allowed.

use axum::Router;
use axum::handler::Handler;
use axum::http::Method;
use axum::middleware::from_fn_with_state;
use axum::routing::{MethodFilter, MethodRouter, on};
use cloister_policy::engine::{
    ChatCall, ContextCall, ModelCall, PlatformCall, SecretCall, WorkspaceCall,
};

use super::Admin;
use super::authorise::{Guard, authorise};
use super::describe::{Described, Shape};

/// What a call is about: the action that the policies judge, and which part of the path names its
/// resource. `{user}` or `{workspace}` says in whose workspace; nothing else of a request does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum About {
    /// The platform as a whole.
    Platform(PlatformCall),
    /// A workspace.
    Workspace(WorkspaceCall),
    /// The chat that `{chat}` names.
    Chat(ChatCall),
    /// The chat of the task that `{task}` names.
    Task(ChatCall),
    /// The context that `{context}` names.
    Context(ContextCall),
    /// The secret that `{secret}` names.
    Secret(SecretCall),
    /// The model that `{model}` names; without it, any: only a role on the platform reaches that.
    Model(ModelCall),
    /// This action, on what only the body names: the handler asks by `Asker::require`. A workspace that
    /// the path names must be visible before.
    Handler(&'static str),
}

impl About {
    /// The action's name in policies.
    pub(crate) const fn action(self) -> &'static str {
        match self {
            Self::Platform(call) => call.as_str(),
            Self::Workspace(call) => call.as_str(),
            Self::Chat(call) | Self::Task(call) => call.as_str(),
            Self::Context(call) => call.as_str(),
            Self::Secret(call) => call.as_str(),
            Self::Model(call) => call.as_str(),
            Self::Handler(action) => action,
        }
    }
}

/// A call as it is declared, without what answers it.
#[derive(Clone, Debug)]
pub(crate) struct Call {
    pub(crate) method: Method,
    pub(crate) path: &'static str,
    pub(crate) about: About,
    pub(crate) shape: Shape,
}

/// One line of the table.
pub(crate) struct Route {
    pub(crate) call: Call,
    handler: MethodRouter<Admin>,
}

macro_rules! methods {
    ($($name:ident = $method:ident),+) => {
        $(
            pub(super) fn $name<H, T>(path: &'static str, about: About, handler: H) -> Self
            where
                H: Handler<T, Admin> + Described<T>,
                T: 'static,
            {
                let call = Call { method: Method::$method, path, about, shape: H::shape() };
                Self { call, handler: on(MethodFilter::$method, handler) }
            }
        )+
    };
}

impl Route {
    methods!(get = GET, post = POST, put = PUT, patch = PATCH, delete = DELETE);
}

/// The router of a table. Whoever serves it says who calls, by a `Caller` on every request.
pub(super) fn router(table: Vec<Route>, admin: &Admin) -> Router {
    let mut router = Router::new();
    for Route { call, handler } in table {
        let path = call.path;
        let guard = Guard::new(admin.clone(), call);
        router = router.route(path, handler.route_layer(from_fn_with_state(guard, authorise)));
    }
    router.with_state(admin.clone())
}
