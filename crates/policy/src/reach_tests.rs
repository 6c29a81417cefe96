use super::*;

/// A request that is in no list of the test would be missing from the reviewed matrix.
#[test]
fn every_request_is_listed_once() {
    for (at, request) in CellRequest::ALL.iter().enumerate() {
        assert_eq!(CellRequest::ALL.iter().position(|other| other == request), Some(at));
        let same = CellRequest::ALL.iter().filter(|other| other.as_str() == request.as_str());
        assert_eq!(same.count(), 1, "{}", request.as_str());
    }
}

/// No request of a cell reaches another context, let alone another workspace.
#[test]
fn no_row_reaches_further_than_the_context() {
    for request in CellRequest::ALL {
        for asker in Asker::ALL {
            let reach = request.row().reach(asker);
            assert!(!reach.covers(Distance::OtherContext), "{request:?}");
            assert!(!reach.covers(Distance::OtherWorkspace), "{request:?}");
        }
    }
}

/// A path at the door that is nearly one of ours is none.
#[test]
fn only_exact_paths_have_a_row() {
    for path in
        ["", "/", "/link/", "//link", "/LINK", "/v1/embeddings", "/admin/v1/users", "/fetch?x"]
    {
        assert_eq!(CellRequest::of_route(path), None, "{path}");
    }
}
