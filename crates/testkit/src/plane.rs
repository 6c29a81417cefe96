//! A control plane on a directory, without cells: the one beginning of the tests of control and of ring 3.
//!
//! It is a macro because control's own tests see control's types as `crate`, and everybody else's see those of the
//! library.

/// Defines `Nothing`, which launches nothing and opens no door, and `parts_in`, what a control plane is made of that
/// has nothing else and the default of everything. The argument is where the types of control are: `crate` or
/// `cloister_control`.
#[macro_export]
macro_rules! control_plane_without_cells {
    ($control:ident) => {
        /// Launches nothing, opens no door.
        pub(crate) struct Nothing;

        impl $control::ports::CellBackend for Nothing {
            fn name(&self) -> &'static str {
                "nothing"
            }

            fn check(&self) -> ::futures_util::future::BoxFuture<'_, Vec<$control::ports::Check>> {
                Box::pin(async { Vec::new() })
            }

            fn sweep(&self) -> ::futures_util::future::BoxFuture<'_, ()> {
                Box::pin(async {})
            }

            fn launch(
                &self,
                spec: $control::ports::SandboxSpec,
            ) -> ::futures_util::future::BoxFuture<
                '_,
                Result<Box<dyn $control::ports::Sandbox>, $control::ports::LaunchError>,
            > {
                let reason = "there is no backend".to_owned();
                Box::pin(async move {
                    Err($control::ports::LaunchError::Failed { name: spec.name, reason })
                })
            }

            fn adopt(
                &self,
                _: ::cloister_protocol::WorkspaceId,
                _: &::std::fs::File,
            ) -> ::std::io::Result<()> {
                Ok(())
            }

            fn show(
                &self,
                _: ::cloister_protocol::WorkspaceId,
                _: &::std::fs::File,
            ) -> ::std::io::Result<()> {
                Ok(())
            }
        }

        impl $control::ports::Doors for Nothing {
            fn open(
                &self,
                _: ::std::path::PathBuf,
                _: $control::ports::Principal,
                _: $control::ports::Egress,
                _: ::std::sync::Arc<dyn $control::ports::LinkSide>,
            ) -> ::std::io::Result<Box<dyn $control::ports::OpenDoor>> {
                Err(::std::io::Error::other("there are no doors"))
            }
        }

        /// The default policies, read once: that takes longer than all else in a world.
        fn policies() -> $control::Policies {
            static DEFAULT: ::std::sync::OnceLock<$control::Policies> =
                ::std::sync::OnceLock::new();
            DEFAULT.get_or_init(|| $control::Policies::new(&[]).unwrap()).clone()
        }

        /// `new`: the directory is empty.
        pub(crate) async fn parts_in(dir: &::std::path::Path, new: bool) -> $control::Parts {
            let layout = $control::layout::Layout::new(dir);
            layout.create().unwrap();
            let (store, keys) = $crate::rows::store_in(dir, new).await;
            let master = ::cloister_store::secrets::MasterPlace::file(&dir.join("master.key"));
            $control::Parts {
                store,
                layout,
                cells: Default::default(),
                users: Default::default(),
                work: Default::default(),
                limits: Default::default(),
                gates: Default::default(),
                files: Default::default(),
                surfaces: Default::default(),
                backend: ::std::sync::Arc::new(Nothing),
                doors: ::std::sync::Arc::new(Nothing),
                metrics: ::std::sync::Arc::new($control::Metrics::default()),
                keys,
                policies: policies(),
                audit: $control::AuditParts { options: Default::default(), witnesses: Vec::new() },
                master: ::std::sync::Arc::new(move || Ok((master.clone(), false))),
            }
        }
    };
}
