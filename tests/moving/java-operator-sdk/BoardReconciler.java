package com.example.boards;

import io.fabric8.crd.generator.annotation.PrinterColumn;
import io.fabric8.generator.annotation.Min;
import io.fabric8.generator.annotation.Required;
import io.fabric8.kubernetes.api.model.ConfigMap;
import io.fabric8.kubernetes.api.model.ConfigMapBuilder;
import io.fabric8.kubernetes.api.model.Namespaced;
import io.fabric8.kubernetes.api.model.ObjectMetaBuilder;
import io.fabric8.kubernetes.api.model.apps.Deployment;
import io.fabric8.kubernetes.api.model.apps.DeploymentBuilder;
import io.fabric8.kubernetes.api.model.apps.DeploymentStatus;
import io.fabric8.kubernetes.client.CustomResource;
import io.fabric8.kubernetes.client.KubernetesClient;
import io.fabric8.kubernetes.model.annotation.Group;
import io.fabric8.kubernetes.model.annotation.Version;
import io.javaoperatorsdk.operator.Operator;
import io.javaoperatorsdk.operator.api.reconciler.Cleaner;
import io.javaoperatorsdk.operator.api.reconciler.Context;
import io.javaoperatorsdk.operator.api.reconciler.ControllerConfiguration;
import io.javaoperatorsdk.operator.api.reconciler.DeleteControl;
import io.javaoperatorsdk.operator.api.reconciler.Reconciler;
import io.javaoperatorsdk.operator.api.reconciler.UpdateControl;
import io.javaoperatorsdk.operator.api.reconciler.Workflow;
import io.javaoperatorsdk.operator.api.reconciler.dependent.Dependent;
import io.javaoperatorsdk.operator.processing.dependent.kubernetes.CRUDKubernetesDependentResource;
import java.util.Map;
import java.util.Optional;
import java.util.TreeMap;

@Workflow(
    dependents = {
      @Dependent(type = BoardReconciler.Page.class),
      @Dependent(type = BoardReconciler.Web.class)
    })
@ControllerConfiguration(finalizerName = "boards.example.com/directory")
public class BoardReconciler
    implements Reconciler<BoardReconciler.Board>, Cleaner<BoardReconciler.Board> {

  @Group("boards.example.com")
  @Version("v1")
  public static class Board extends CustomResource<BoardSpec, BoardStatus> implements Namespaced {}

  public static class BoardSpec {
    @Required public String text;
    @Min(0) public Integer replicas;
  }

  public static class BoardStatus {
    @PrinterColumn(name = "Ready") public int ready;
  }

  public static class Page extends CRUDKubernetesDependentResource<ConfigMap, Board> {
    @Override
    protected ConfigMap desired(Board board, Context<Board> context) {
      return new ConfigMapBuilder()
          .withNewMetadata()
          .withName(board.getMetadata().getName() + "-page")
          .withNamespace(board.getMetadata().getNamespace())
          .endMetadata()
          .addToData("index.html", board.getSpec().text)
          .build();
    }
  }

  public static class Web extends CRUDKubernetesDependentResource<Deployment, Board> {
    @Override
    protected Deployment desired(Board board, Context<Board> context) {
      String name = board.getMetadata().getName();
      return new DeploymentBuilder()
          .withNewMetadata()
          .withName(name)
          .withNamespace(board.getMetadata().getNamespace())
          .endMetadata()
          .withNewSpec()
          .withReplicas(board.getSpec().replicas)
          .withNewSelector()
          .addToMatchLabels("board", name)
          .endSelector()
          .withNewTemplate()
          .withNewMetadata()
          .addToLabels("board", name)
          .endMetadata()
          .withNewSpec()
          .addNewContainer()
          .withName("server")
          .withImage("nginx:1.29-alpine")
          .addNewVolumeMount()
          .withName("page")
          .withMountPath("/usr/share/nginx/html")
          .endVolumeMount()
          .endContainer()
          .addNewVolume()
          .withName("page")
          .withNewConfigMap()
          .withName(name + "-page")
          .endConfigMap()
          .endVolume()
          .endSpec()
          .endTemplate()
          .endSpec()
          .build();
    }
  }

  @Override
  public UpdateControl<Board> reconcile(Board board, Context<Board> context) {
    list(board, board.getSpec().text, context.getClient());
    int ready =
        context
            .getSecondaryResource(Deployment.class)
            .map(Deployment::getStatus)
            .map(DeploymentStatus::getReadyReplicas)
            .orElse(0);
    if (board.getStatus() != null && board.getStatus().ready == ready) {
      return UpdateControl.noUpdate();
    }
    // An apply of the status needs an object that has nothing else.
    var patch = new Board();
    patch.setMetadata(
        new ObjectMetaBuilder()
            .withName(board.getMetadata().getName())
            .withNamespace(board.getMetadata().getNamespace())
            .build());
    patch.setStatus(new BoardStatus());
    patch.getStatus().ready = ready;
    return UpdateControl.patchStatus(patch);
  }

  @Override
  public DeleteControl cleanup(Board board, Context<Board> context) {
    list(board, null, context.getClient());
    return DeleteControl.defaultDelete();
  }

  /** Writes the text of a board into the directory of its namespace, or removes it. */
  private void list(Board board, String text, KubernetesClient client) {
    client
        .configMaps()
        .inNamespace(board.getMetadata().getNamespace())
        .withName("directory")
        .edit(
            directory -> {
              var data = new TreeMap<>(Optional.ofNullable(directory.getData()).orElse(Map.of()));
              if (text == null) {
                data.remove(board.getMetadata().getName());
              } else {
                data.put(board.getMetadata().getName(), text);
              }
              directory.setData(data);
              return directory;
            });
  }

  public static void main(String[] args) {
    var operator = new Operator();
    operator.register(new BoardReconciler());
    operator.start();
  }
}
