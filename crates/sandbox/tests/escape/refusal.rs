//! E32: a layer that is not available means no launch, never a weaker one.

use std::os::unix::net::UnixListener;

use cloister_control::ports::{CellBackend, LaunchError};

use crate::suite::{Build, Suite, limits};

pub(crate) async fn attack(suite: &mut Suite) {
    for (missing, layer) in [
        ("userns", "user and other namespaces"),
        ("landlock", "Landlock"),
        ("seccomp", "seccomp"),
        ("mounts", "mounts"),
    ] {
        let marker = suite.host.root.join(format!("cells/a/ran-without-{missing}"));
        let agent = suite.agent(Build::Hardened, "E12", &["/nonexistent".to_owned()]);
        std::fs::write(&agent, format!("#!/bin/sh\ntouch /chat/ran-without-{missing}\n")).unwrap();
        let launcher = suite.host.weak_launcher(&format!("without-{missing}"));
        let spec = suite.spec(limits());
        let _door = UnixListener::bind(&spec.door).unwrap();
        let launched = suite.backend_with(launcher, agent.clone()).launch(spec).await;
        let hardened = match launched {
            Ok(sandbox) => Err(format!("ESCAPED: launched, {:?}", sandbox.wait().await)),
            Err(LaunchError::CannotIsolate { layer: named, reason, .. }) if named == layer => {
                if marker.exists() {
                    Err("ESCAPED: it ran".to_owned())
                } else {
                    Ok(format!("refused: {reason}"))
                }
            }
            Err(error) => Err(format!("the wrong refusal: {error}")),
        };
        // The same agent, where nothing is missing, does run.
        let spec = suite.spec(limits());
        let launched = suite.backend(Build::Hardened, agent).launch(spec).await;
        let exit = match &launched {
            Ok(sandbox) => Some(sandbox.wait().await),
            Err(_) => None,
        };
        let weakened = if marker.exists() {
            Ok("with the layer there, it runs".to_owned())
        } else {
            Err(format!("DOES NOT BITE: {exit:?}"))
        };
        suite.row("E32", &format!("no {missing} on this kernel"), hardened, weakened);
    }
}
