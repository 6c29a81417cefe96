//! Whose connection a request makes it: a person's who is logged in, or a stranger's.

use axum::extract::{ConnectInfo, Request, State as Extract};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};
use cloister_control::rows::token_hash;
use cloister_protocol::ErrorCode;

use crate::auth::bearer;
use crate::connections::Seat;
use crate::pages::session::session_cookie;
use crate::peer::Peer;
use crate::reply::Failure;
use crate::server::State;

/// The layer on all that is public: with a live session the connection gets a place among those of people who are
/// logged in, without one it stays among the strangers', who make room for each other. It opens nothing: every
/// route still looks at the session itself.
pub(crate) async fn recognise(
    Extract(state): Extract<State>,
    request: Request,
    next: Next,
) -> Response {
    let Some(seat) = request.extensions().get::<Seat>().cloned() else {
        return next.run(request).await;
    };
    let token = token_of(&state, &request);
    let owner = match token {
        Some(hash) => state.control.sessions().owner(&hash).await.ok().flatten(),
        None => None,
    };
    match owner {
        Some(owner) if !seat.is_of(owner.user) => {
            let message = "too many connections of yours are open already";
            Failure::new(ErrorCode::Busy, message).fix("close some, then try again").into_response()
        }
        Some(_) => next.run(request).await,
        None => {
            let peer = request.extensions().get::<ConnectInfo<Peer>>();
            seat.is_strangers(peer.and_then(|ConnectInfo(peer)| peer.0));
            next.run(request).await
        }
    }
}

/// The hash of the token that a request brings, wherever it may be.
fn token_of(state: &State, request: &Request) -> Option<String> {
    let headers = request.headers();
    let in_address = || {
        let mut pairs = request.uri().query()?.split('&').filter_map(|pair| pair.split_once('='));
        pairs.find(|(name, _)| *name == "token").map(|(_, token)| token)
    };
    let token = bearer(headers).or_else(|| session_cookie(state, headers)).or_else(in_address);
    token.map(token_hash)
}
