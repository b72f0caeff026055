use bytes::Bytes;
use serde::{Serialize, de::DeserializeOwned};

use super::api::{Api, EncodedObject, unwritable};
use crate::{
    client::{
        DeleteParams, Deleted, Encoding, Error, ListParams, decode::decode_deleted,
        request::url::Query, rest::Call,
    },
    resource::{ByName, Object},
};

/// Delete objects.
impl<K: Object + Serialize + DeserializeOwned, R> Api<K, R> {
    /// Deletes the object named `name`.
    ///
    /// The answer means that the deletion has begun. [`wait_until_deleted`](Self::wait_until_deleted) waits until the
    /// object is gone.
    ///
    /// ```no_run
    /// # use pilothouse::{client::{Api, DeleteParams, Error}, k8s::api::batch::v1::Job};
    /// # async fn example(jobs: Api<Job>) -> Result<(), Error> {
    /// let job = jobs.get("import").await?;
    /// // This very job, not one that bears its name meanwhile, and its pods with it.
    /// let this_one = DeleteParams::foreground().uid(job.metadata.uid.unwrap_or_default());
    /// jobs.delete("import", &this_one).await?;
    /// # Ok(()) }
    /// ```
    ///
    /// # Errors
    /// [`Error::is_not_found`] if there is no such object. [`Error::is_conflict`] if a precondition does not hold.
    pub async fn delete(&self, name: &str, params: &DeleteParams) -> Result<Deleted<K>, Error>
    where
        R: ByName,
    {
        let answered = self.delete_with_answer(name, params).await;
        answered.map(|(deleted, _)| deleted)
    }

    /// As [`delete`](Self::delete). Returns the encoded answer, too, if it is the object.
    pub(crate) async fn delete_with_answer(
        &self,
        name: &str,
        params: &DeleteParams,
    ) -> Result<(Deleted<K>, Option<EncodedObject>), Error> {
        let call = self.call("delete", Some(name), None);
        let body = delete_body(&call, params)?;
        let answer = self.client().fetch(&call, call.path()?, body).await?;
        let deleted = decode_deleted(&answer, self.keeps_managed_fields())
            .map_err(|reason| call.undecodable(reason))?;
        Ok(match deleted {
            Deleted::Deleting(_) => {
                call.check_object(&answer)?;
                (deleted, Some(EncodedObject(answer)))
            }
            Deleted::Done(_) => (deleted, None),
        })
    }

    /// Deletes each object that `list` selects, as [`delete`](Self::delete) would.
    ///
    /// ```no_run
    /// # use pilothouse::{client::{Api, DeleteParams, Error, ListParams}, k8s::api::core::v1::ConfigMap};
    /// # async fn example(maps: Api<ConfigMap>) -> Result<(), Error> {
    /// let old = ListParams::default().labels("app=web,release!=blue");
    /// maps.delete_collection(&DeleteParams::background(), &old).await?;
    /// # Ok(()) }
    /// ```
    ///
    /// # Errors
    /// [`ErrorKind::Invalid`](crate::client::ErrorKind::Invalid) if the options are not valid. Otherwise the request fails; see [`ErrorKind`](crate::client::ErrorKind).
    pub async fn delete_collection(
        &self,
        params: &DeleteParams,
        list: &ListParams,
    ) -> Result<(), Error>
    where
        R: ByName,
    {
        let call = self.call("deletecollection", None, None);
        let mut query = Query::new(call.path()?);
        list.write(&mut query)
            .map_err(|wrong| call.invalid(wrong))?;
        let body = delete_body(&call, params)?;
        self.client().fetch(&call, query.finish(), body).await?;
        Ok(())
    }
}

fn delete_body(
    call: &Call<'_>,
    params: &DeleteParams,
) -> Result<Option<(&'static str, Bytes)>, Error> {
    params
        .check(call.name.is_some())
        .map_err(|wrong| call.invalid(wrong))?;
    let Some(options) = params.body() else {
        return Ok(None);
    };
    let body = Encoding::Json
        .write(&options)
        .map_err(|_| unwritable(call))?;
    Ok(Some((Encoding::Json.media_type(), body)))
}
