//! Every surface that a control plane has, for who administers them.

use std::fmt;
use std::sync::Arc;

use super::SurfaceHost;

/// The surfaces by name.
#[derive(Clone, Default)]
pub struct SurfaceHosts(Arc<[Arc<dyn SurfaceHost>]>);

impl SurfaceHosts {
    pub fn new(hosts: Vec<Arc<dyn SurfaceHost>>) -> Self {
        Self(hosts.into())
    }

    pub fn get(&self, surface: &str) -> Option<&dyn SurfaceHost> {
        self.all().find(|host| host.name() == surface)
    }

    pub fn all(&self) -> impl Iterator<Item = &dyn SurfaceHost> {
        self.0.iter().map(AsRef::as_ref)
    }
}

impl fmt::Debug for SurfaceHosts {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self.all().map(SurfaceHost::name)).finish()
    }
}
